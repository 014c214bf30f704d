"""How a program of the zoo uses a GPU and meets the runner."""

import os
import time

MIB = 1 << 20
LIVE, CACHED = 3 * 64 * MIB, 6 * 64 * MIB
_held = []


def use():
    """Uses a GPU: LIVE bytes stay allocated, and a flush frees CACHED bytes."""
    import torch

    _held[:] = [torch.empty(64 * MIB) for _ in range(9)]
    del _held[3:]


def intact():
    """Whether exactly the memory that use() keeps is allocated."""
    import torch

    return torch.cuda.memory_stats(0)["allocated_bytes.all.current"] == LIVE


def _place(number):
    return os.path.join(os.environ["ZOO_MEET"], "%d.%d" % (os.getpid(), number))


def ready(number=0):
    """Notifies the runner that this process is ready, for the number-th time, without opening a descriptor."""
    os.mkdir(_place(number))


def going(number=0):
    """Whether the runner is done with this process."""
    return os.path.exists(_place(number) + ".go")


def meet(number=0, sleep=time.sleep):
    """Uses a GPU and waits until the runner is done."""
    if not _held:
        use()
    ready(number)
    while not going(number):
        sleep(0.01)


def busy(step, number=0):
    """Uses a GPU and takes steps until the runner is done, at least one."""
    if not _held:
        use()
    ready(number)
    while True:
        step()
        if going(number):
            return


def work(n=200):
    """Uses the heap, and checks its own result."""
    table = {i: [str(i)] * (i % 7) for i in range(n)}
    assert sum(len(v) for v in table.values()) == sum(i % 7 for i in range(n))


def end():
    """Prints whether the memory is intact. Most programs end with this call."""
    print("intact" if intact() else "broken", flush=True)
