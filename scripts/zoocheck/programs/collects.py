"""The garbage collector keeps what it finds, or is off."""

import gc
import sys

import zoo


class Loop:
    def __init__(self):
        self.own = self


if len(sys.argv) > 1:
    gc.disable()
else:
    gc.set_debug(gc.DEBUG_SAVEALL)


def step():
    Loop()
    zoo.work(50)


zoo.busy(step)
for _ in range(3):
    Loop()
gc.collect()
print(gc.isenabled(), gc.get_debug(), sum(isinstance(g, Loop) for g in gc.garbage) >= 3 or len(sys.argv) > 1)
gc.set_debug(0)
gc.garbage.clear()
zoo.end()
