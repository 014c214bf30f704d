"""A signal handler runs a thousand times a second."""

import signal

import zoo

seen = 0


def handler(*_):
    global seen
    seen += 1


signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
zoo.busy(zoo.work)
signal.setitimer(signal.ITIMER_REAL, 0)
print(seen > 0)
zoo.end()
