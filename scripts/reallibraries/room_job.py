"""A process with a real library that shares a GPU: it takes and caches memory on command.

    python3 room_job.py [torch | jax | tensorflow]

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

sys.path[:] = [path for path in sys.path if path not in OURS]  # a library must not import our modules

live = []


def of_torch():
    import torch

    return torch, lambda size: torch.empty(size, dtype=torch.uint8, device=0), torch.cuda.OutOfMemoryError


def of_jax():
    import jax

    return jax, lambda size: jax.numpy.zeros(size, jax.numpy.uint8).block_until_ready(), jax.errors.JaxRuntimeError


def of_tensorflow():
    import tensorflow as tf

    def allocate(size):
        with tf.device("/GPU:0"):
            return tf.zeros((-(-size >> 20), min(size, 1 << 20)), tf.uint8)  # a dimension has 32 bits

    return tf, allocate, tf.errors.ResourceExhaustedError


def attempt(allocate, out_of_memory, size):
    """Allocates once. Returns the error's text, "" for none, and how many milliseconds it took."""
    began, text = time.monotonic(), ""
    try:
        live.append(allocate(size))
    except out_of_memory as error:
        text = str(error)
    return {"error": text, "ms": (time.monotonic() - began) * 1e3}


def drop(torch, count=None):
    """Frees the oldest tensors into PyTorch's cache. Returns the reserved bytes."""
    del live[: len(live) if count is None else count]
    return torch.cuda.memory_reserved()


def failures(attempt, size, count):
    """Allocates in vain, many times."""
    began = time.monotonic()
    errors = sum(bool(attempt(size)["error"]) for _ in range(count))
    return {"errors": errors, "ms": (time.monotonic() - began) * 1e3}


def threads(attempt, size, count):
    """Allocates in many threads at once."""
    outcomes, begin = [], threading.Barrier(count)

    def work():
        begin.wait()
        outcomes.append(attempt(size))

    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return outcomes


def meet():
    library, allocate, out_of_memory = globals()["of_" + (sys.argv[1:] or ["torch"])[0]]()
    allocate(1)  # a context, and with it a probe
    once = functools.partial(attempt, allocate, out_of_memory)
    steps = {"attempt": once, "drop": functools.partial(drop, library), "pid": os.getpid}
    return library.__version__, {**steps, **{step.__name__: functools.partial(step, once) for step in (failures, threads)}}


if __name__ == "__main__":
    serve(meet)
