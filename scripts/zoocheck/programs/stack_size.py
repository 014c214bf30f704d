"""Its threads have the smallest stacks that Python allows."""

import threading

import zoo

threading.stack_size(32 << 10)
thread = threading.Thread(target=zoo.work, args=(20,))
thread.start()
thread.join()
zoo.meet()
print(threading.stack_size())
zoo.end()
