"""A stand-in for CuPy, for tests: its memory pool, on contexts of libcuda.so.1."""

__version__ = "13.3.0"

from . import cuda  # noqa: E402


def get_default_memory_pool():
    return cuda.default_pool
