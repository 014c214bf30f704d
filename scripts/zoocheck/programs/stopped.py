"""Stops itself, and a child makes it continue."""

import os
import signal

import zoo

zoo.use()
parent = os.getpid()
zoo.ready()
child = os.fork()
if not child:
    import time
    place = os.path.join(os.environ["ZOO_MEET"], "%d.0.go" % parent)
    while not os.path.exists(place):
        time.sleep(0.05)
    os.kill(parent, signal.SIGCONT)
    os._exit(0)
os.kill(parent, signal.SIGSTOP)
print(os.waitpid(child, 0)[1])
zoo.end()
