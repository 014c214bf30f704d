"""A stand-in for PyTorch. Its allocator keeps freed blocks for requests of the same size."""

import ctypes
import os
import sys
import types

__version__ = "2.99"
runtime = ctypes.CDLL(None)  # the libraries that are loaded with RTLD_GLOBAL
cuda, _C = types.SimpleNamespace(memory=types.SimpleNamespace()), types.SimpleNamespace()
cached, live, most = [], {}, {"reserved": 0, "allocated": 0}

if "SECRET" in os.environ or "site" in sys.modules:
    raise ImportError("it has more of the environment than it needs")
if os.path.exists(os.path.join(os.path.dirname(__file__), "nvidia")):
    ctypes.CDLL(os.path.join(os.path.dirname(__file__), "nvidia", "libcudart.so.12"))


class OutOfMemoryError(RuntimeError):
    pass


def settings():
    return os.environ["PYTORCH_CUDA_ALLOC_CONF"]


def alloc(size, stream):
    size *= 2 if settings() == "double" else 1
    fits = [block for block in cached if block[1] == size]
    if fits:
        cached.remove(fits[0])
        block = fits[0]
    else:
        pointer = ctypes.c_void_p()
        if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)):
            empty_cache()
            if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)):
                raise OutOfMemoryError()
        block = (pointer.value, size)
    live[block[0]] = block
    most["allocated"] = max(most["allocated"], sum(b[1] for b in live.values()))
    most["reserved"] = max(most["reserved"], sum(b[1] for b in [*live.values(), *cached]))
    return block[0]


def empty_cache():
    while cached:
        runtime.cudaFree(ctypes.c_void_p(cached.pop()[0]))


def segments():
    return [{"segment_type": "large", "address": b[0], "blocks": [{"state": s, "size": b[1]}]} for s, blocks in
            (("active_allocated", live.values()), ("inactive", cached)) for b in blocks]


cuda.init = lambda: None
cuda.OutOfMemoryError = OutOfMemoryError
cuda.empty_cache = empty_cache
cuda.memory_snapshot = segments
cuda.memory._snapshot = lambda: {"allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "other" if settings() == "unknown" else settings()}}
cuda.max_memory_reserved = lambda: most["reserved"]
cuda.max_memory_allocated = lambda: most["allocated"]
_C._cuda_cudaCachingAllocator_raw_alloc = alloc
_C._cuda_cudaCachingAllocator_raw_delete = lambda pointer: cached.append(live.pop(pointer))
