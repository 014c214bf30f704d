"""A real Numba that allocates in one of several ways, and reports its own figures.

Started by framework_test.go, and answers steps as torch_job.py does. Numba has no
allocator: each array is an allocation of the driver's. Arrays that Numba frees later count as held.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[0] = os.path.join(HERE, "..", "gpucheck", "jobs")
from serving import serve  # noqa: E402

sys.path.pop(0)  # Numba must not import our modules

MIB = 1 << 20
held = {0: [], 1: []}
errors = 0


def arrays(cuda, sizes, device=0):
    import numpy

    with cuda.gpus[device]:
        return [cuda.device_array(size, numpy.uint8) for size in sizes]


def fill(cuda, device=0):
    """Live arrays, and arrays that Numba frees now or later. They fill whole pages of 2 MiB."""
    held[device] += arrays(cuda, [64 * MIB] * 3 + [MIB // 4] * 40, device)
    arrays(cuda, [4 * MIB] * 24, device)


def plain(cuda):
    fill(cuda)


def two_gpus(cuda):
    fill(cuda, 0)
    fill(cuda, 1)


def host(cuda):
    """Pinned and mapped memory is not the GPU's, and managed memory is not counted."""
    fill(cuda)
    held["host"] = [cuda.pinned_array(32 * MIB), cuda.mapped_array(8 * MIB), cuda.managed_array(16 * MIB)]


def exhausted(cuda):
    """Three errors that the program survives."""
    global errors
    for _ in range(3):
        try:
            arrays(cuda, [1 << 40])
        except cuda.cudadrv.driver.CudaAPIError as error:
            if error.code != 2:
                raise
            errors += 1
            continue
        raise AssertionError("a TiB was allocated")
    fill(cuda)


WAYS = {way.__name__: way for way in (plain, two_gpus, host, exhausted)}


def meet():
    import numba
    from numba import cuda

    def begin(way, environment, fork):
        cuda.select_device(0)  # as programs do; what is freed at the end needs a context
        WAYS[way](cuda)
        return os.getpid()

    def figures(device):
        with cuda.gpus[device]:
            context = cuda.current_context()
            late = context.memory_manager.deallocations
            return {"beside": sum(array.nbytes for array in held[device]) + late._size,
                    "errors": errors, "free": context.get_memory_info().free}

    return numba.__version__, {"begin": begin, "figures": figures}


serve(meet)
