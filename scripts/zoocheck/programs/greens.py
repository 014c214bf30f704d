"""Greenlets of gevent or eventlet switch all the time. Patching comes before or after the import of the library."""

import sys

library, when = sys.argv[1:]
if when == "late":
    import torch  # noqa: F401
if library == "gevent":
    import gevent
    from gevent import monkey
    monkey.patch_all()
    spawn, sleep = gevent.spawn, gevent.sleep
else:
    import eventlet
    eventlet.monkey_patch()
    spawn, sleep = eventlet.spawn, eventlet.sleep

import threading  # noqa: E402
import time  # noqa: E402

import zoo  # noqa: E402

switches, done, late = 0, [], 0


def green():
    global switches, late
    while not done:
        began = time.monotonic()
        sleep(0.001)
        late = max(late, time.monotonic() - began)
        switches += 1


every = [spawn(green) for _ in range(10)]
patched = threading.Thread(target=green)
patched.start()
zoo.meet(sleep=sleep)
done.append(True)
for each in every:
    each.join() if library == "gevent" else each.wait()
patched.join()
with open("/proc/self/comm") as file:
    print(switches > 0, "late" if late > 20 else "in time", file.read().strip())
zoo.end()
