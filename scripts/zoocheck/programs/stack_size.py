"""Makes a thread with the smallest stack that Python allows."""

import sys
import threading

import zoo

threading.stack_size(32 << 10 if sys.version_info < (3, 14) else 64 << 10)  # the least
thread = threading.Thread(target=zoo.work, args=(20,))
thread.start()
thread.join()
zoo.meet()
print(threading.stack_size())
zoo.end()
