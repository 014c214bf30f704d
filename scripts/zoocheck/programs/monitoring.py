import sys

import zoo

watch, count = sys.monitoring, 0


def own():
    zoo.work(5)


def started(code, _):
    global count
    count += code is own.__code__


zoo.use()
watch.use_tool_id(watch.PROFILER_ID, "zoo")
watch.register_callback(watch.PROFILER_ID, watch.events.PY_START, started)
watch.set_events(watch.PROFILER_ID, watch.events.PY_START)
made = 0
zoo.ready()
while not zoo.going():
    own()
    made += 1
watch.set_events(watch.PROFILER_ID, 0)
print(count == made, [watch.get_tool(n) for n in range(6)])
zoo.end()
