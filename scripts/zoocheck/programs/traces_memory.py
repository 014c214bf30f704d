import tracemalloc

import zoo

tracemalloc.start(10)
zoo.use()
held = [str(n) for n in range(1000)]
zoo.meet()
own = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print(sum(trace.size > 0 for trace in own.traces) >= 900, tracemalloc.get_traceback_limit())
zoo.end()
