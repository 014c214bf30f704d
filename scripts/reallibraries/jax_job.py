"""A real JAX that allocates in one of several ways, and reports its allocator's own figures.

Started by framework_test.go, and answers steps as torch_job.py does.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[0] = os.path.join(HERE, "..", "gpucheck", "jobs")
from serving import serve  # noqa: E402

sys.path[0] = HERE
from driver import free_memory, pool_memory  # noqa: E402

sys.path.pop(0)  # JAX must not import our modules

MIB = 1 << 20
held = []
errors = 0


def arrays(jax, sizes, device=0):
    import numpy

    return [jax.device_put(numpy.zeros(size, numpy.uint8), jax.devices()[device]) for size in sizes]


def fill(jax, device=0):
    """Live blocks, free blocks between them, and larger free blocks."""
    held.append(arrays(jax, [64 * MIB] * 3 + [586 * 512] * 40, device))
    between = arrays(jax, [3 * MIB] * 24, device)
    held.append(between[::2])
    arrays(jax, [48 * MIB] * 4, device)


def plain(jax):
    fill(jax)


def computing(jax):
    """Compiled programs, with temporary memory of their own."""
    fill(jax)
    step = jax.jit(lambda a: (a @ a.T).sum(axis=0))
    for _ in range(3):
        held.append(step(jax.numpy.ones((512, 512))))


def two_gpus(jax):
    fill(jax, 0)
    fill(jax, 1)


def exhausted(jax):
    """Three errors that the program survives."""
    global errors
    for _ in range(3):
        try:
            jax.numpy.zeros(100 << 30, jax.numpy.uint8).block_until_ready()
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            errors += 1
            continue
        raise AssertionError("100 GiB were allocated")
    fill(jax)


WAYS = {way.__name__: way for way in (plain, computing, two_gpus, exhausted)}


def meet():
    import jax

    def begin(way, environment, fork):
        WAYS[way](jax)
        for array in jax.live_arrays():
            array.block_until_ready()
        return os.getpid()

    def figures(device):
        free = free_memory(device)  # first, because it waits for pending memory
        stats = jax.devices()[device].memory_stats()
        own = {"allocated_bytes": stats["bytes_in_use"], "returnable_bytes": 0}
        if "pool_bytes" in stats:
            own["reserved_bytes"], own["peak_reserved_bytes"] = stats["pool_bytes"], stats["peak_pool_bytes"]
            own["peak_allocated_bytes"] = stats["peak_bytes_in_use"]
        else:  # cuda_async
            # The peaks are the pool's: JAX's would count the preallocation, which was one block.
            own["reserved_bytes"], _, own["peak_reserved_bytes"], own["peak_allocated_bytes"] = pool_memory(device)
        own["cached_bytes"] = own["reserved_bytes"] - own["allocated_bytes"]
        return {"stats": own, "free": free, "errors": errors}

    return jax.__version__, {"begin": begin, "figures": figures}


serve(meet)
