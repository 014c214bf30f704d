"""Leaves no address space for another thread."""

import resource

import zoo

zoo.use()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
zoo.ready()
before = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 20), before[1]))
while not zoo.going():
    zoo.time.sleep(0.01)
resource.setrlimit(resource.RLIMIT_AS, before)
zoo.end()
