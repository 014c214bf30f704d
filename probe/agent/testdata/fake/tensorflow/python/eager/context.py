"""The context of the stand-in, created on first use."""

import ctypes
import types

_context = None


def ensure_initialized():
    global _context
    if _context is None:
        _context = types.SimpleNamespace(_initialized=True)
        cuda = ctypes.CDLL("libcuda.so.1")
        made = ctypes.c_void_p()
        assert cuda.cuInit(0) == 0 and cuda.cuDevicePrimaryCtxRetain(ctypes.byref(made), 1) == 0
