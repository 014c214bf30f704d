"""Backends of the stand-in. Their creation reserves three quarters of GPU 1; with
FAKE_JAX_DRIVER=1 of the first visible GPU, through the driver."""

import ctypes
import os

GIB = 1 << 30
_backends = {}


class GPU:
    id, local_hardware_id, platform = 0, 0 if os.environ.get("FAKE_JAX_DRIVER") else 1, "gpu"

    def __init__(self):
        cuda = ctypes.CDLL("libcuda.so.1")
        assert cuda.cuInit(0) == 0
        context = ctypes.c_void_p()
        assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.local_hardware_id) == 0
        if os.environ.get("FAKE_JAX_DRIVER"):
            assert cuda.cuCtxSetCurrent(context) == 0
            assert cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_ulonglong()), ctypes.c_size_t(60 * GIB)) == 0

    def memory_stats(self):
        return {
            "bytes_in_use": 10 * GIB, "pool_bytes": 60 * GIB, "peak_pool_bytes": 60 * GIB, "peak_bytes_in_use": 12 * GIB,
            "bytes_limit": 60 * GIB, "largest_free_block_bytes": 45 * GIB, "num_allocs": 7, "bytes_reserved": 0,
            "peak_bytes_reserved": 0, "largest_alloc_size": 4 * GIB,
        }


def backends_are_initialized():
    return bool(_backends)


def local_devices(backend=None):
    if not _backends:
        _backends["gpu"] = GPU()
    return [_backends["gpu"]]
