"""A real PyTorch process that shares a GPU: it takes and caches memory on command.

Its steps are below, in the protocol of gpucheck/jobs/serving.py.
"""

import functools
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = [os.path.join(HERE, "..", "gpucheck", "jobs"), HERE]
sys.path[:0] = OURS
from serving import serve  # noqa: E402

sys.path[:] = [path for path in sys.path if path not in OURS]  # PyTorch must not import our modules

live = []


def attempt(torch, size):
    """Allocates once: the error's text, "" where there is none, and how long it took."""
    began, text = time.monotonic(), ""
    try:
        live.append(torch.empty(size, dtype=torch.uint8, device=0))
    except torch.cuda.OutOfMemoryError as error:
        text = str(error)
    return {"error": text, "ms": (time.monotonic() - began) * 1e3}


def drop(torch, count=None):
    """Frees the oldest tensors into PyTorch's cache."""
    del live[: len(live) if count is None else count]
    return torch.cuda.memory_reserved()


def failures(torch, size, count):
    """Allocates in vain, many times."""
    began = time.monotonic()
    errors = sum(bool(attempt(torch, size)["error"]) for _ in range(count))
    return {"errors": errors, "ms": (time.monotonic() - began) * 1e3}


def threads(torch, size, count):
    """Allocates in many threads at once."""
    outcomes, begin = [], threading.Barrier(count)

    def work():
        begin.wait()
        outcomes.append(attempt(torch, size))

    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return outcomes


def meet():
    import torch

    torch.empty(1, device=0)  # a context, and with it a probe
    steps = {step.__name__: functools.partial(step, torch) for step in (attempt, drop, failures, threads)}
    return torch.__version__, {**steps, "pid": os.getpid}


if __name__ == "__main__":
    serve(meet)
