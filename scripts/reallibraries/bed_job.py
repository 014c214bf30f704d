"""A real PyTorch process of the bed in docs/guard.md: it plays a course of allocations.

A course is a list of [seconds, GiB]: at that second the allocated memory changes to that size. A
size of -1 stands for the end of the process: the process frees all its memory and empties its
cache. If the process runs out of memory, it does the same, and starts its course again after
RESTART seconds.
"""

import functools
import os
import sys
import time

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = [os.path.join(HERE, "..", "gpucheck", "jobs"), HERE]
sys.path[:0] = OURS
from serving import serve  # noqa: E402

sys.path[:] = [path for path in sys.path if path not in OURS]  # PyTorch must not import our modules

GIB = 1 << 30
RESTART = 3
TICK = 0.1


def wanted(course, since):
    """The size in GiB that a course has allocated this many seconds after it began."""
    sizes = [size for begin, size in course if begin <= since]
    return sizes[-1] if sizes else 0


def play(torch, begin, seconds, course):
    """Plays the course from the time begin. Returns the number of errors, the mean of the allocated
    memory in GiB, and how long the longest allocation took."""
    live, errors, began, dead, total, ticks, longest = [], 0, begin, 0, 0, 0, 0
    torch.cuda.empty_cache()
    while (now := time.time()) < begin + seconds:
        goal = wanted(course, now - began) if now >= max(began, dead) else 0
        del live[max(goal, 0):]
        if goal < 0:
            torch.cuda.empty_cache()
        try:
            while len(live) < goal:
                asked = time.monotonic()
                live.append(torch.empty(GIB, dtype=torch.uint8, device=0))
                longest = max(longest, time.monotonic() - asked)
        except torch.cuda.OutOfMemoryError:
            errors += 1
            live.clear()
            torch.cuda.empty_cache()
            began = dead = time.time() + RESTART
        if now >= begin:
            total, ticks = total + torch.cuda.memory_allocated() / GIB, ticks + 1
        time.sleep(TICK)
    live.clear()
    torch.cuda.empty_cache()
    return {"errors": errors, "allocated": total / max(ticks, 1), "longest_ms": longest * 1e3}


def meet():
    import torch

    torch.empty(1, device=0)  # a context, and with it a probe
    return torch.__version__, {"play": functools.partial(play, torch), "pid": os.getpid}


if __name__ == "__main__":
    serve(meet)
