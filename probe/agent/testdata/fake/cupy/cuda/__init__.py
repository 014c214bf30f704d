"""cupy.cuda of the stand-in. A pool reports figures for the thread's current device."""

import ctypes
import threading

_here = threading.local()
_driver = None
entered = {}


class Device:
    def __init__(self, ordinal):
        self.id = ordinal

    def synchronize(self):
        self.use()
        assert _driver.cuCtxSynchronize() == 0

    def use(self):
        """cudaSetDevice: makes the context, if there is none."""
        global _driver
        if _driver is None:
            _driver = ctypes.CDLL("libcuda.so.1")
            assert _driver.cuInit(0) == 0
        context = entered.setdefault(self.id, ctypes.c_void_p())
        if not context:
            assert _driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), self.id) == 0
        assert _driver.cuCtxSetCurrent(context) == 0
        _here.device = self.id


class MemoryPool:
    def __init__(self):
        self.chunks = {}  # device → [(size, live bytes)]; free_all_blocks frees those that have none
        self.idle = {}  # device → driver addresses of the chunks without live bytes

    def _here(self):
        return self.chunks.setdefault(getattr(_here, "device", 0), [])

    def malloc(self, size, live):
        self._here().append((size, live))

    def release(self, chunk, address):
        chunks = self._here()
        chunks[chunks.index(chunk)] = (chunk[0], 0)
        self.idle.setdefault(getattr(_here, "device", 0), []).append(address)

    def used_bytes(self):
        return sum(live for _, live in self._here())

    def total_bytes(self):
        return sum(size for size, _ in self._here())

    def free_bytes(self):
        return self.total_bytes() - self.used_bytes()

    def free_all_blocks(self):
        self._here()[:] = [c for c in self._here() if c[1]]
        for address in self.idle.pop(getattr(_here, "device", 0), ()):
            assert _driver.cuMemFree_v2(address) == 0


default_pool = MemoryPool()
_allocate = default_pool.malloc


def get_allocator():
    return _allocate


def set_allocator(allocate):
    global _allocate
    _allocate = allocate
