"""An audit hook, which counts events or forbids some."""

import sys

import zoo

events = 0


def hook(event, arguments):
    global events
    events += 1
    if sys.argv[1] == "forbids" and event.startswith("socket."):
        raise RuntimeError("forbidden: " + event)


sys.addaudithook(hook)
zoo.busy(zoo.work)
print(events > 0)
zoo.end()
