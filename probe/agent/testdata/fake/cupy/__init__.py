"""A stand-in for CuPy, for tests: its memory pool, on contexts of libcuda.so.1."""

__version__ = "13.3.0"

import ctypes

from . import cuda  # noqa: E402

uint8 = "uint8"


def get_default_memory_pool():
    return cuda.default_pool


class ndarray:
    """An array with a chunk of the pool to itself, and the driver's memory below it."""

    def __init__(self, size):
        self._chunk = (size, size)
        self._address = ctypes.c_ulonglong()
        assert cuda._driver.cuMemAlloc_v2(ctypes.byref(self._address), ctypes.c_size_t(size)) == 0
        cuda.default_pool.malloc(*self._chunk)

    def __del__(self):
        cuda.default_pool.release(self._chunk, self._address)


def empty(size, dtype=uint8):
    return ndarray(size)
