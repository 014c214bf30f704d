"""PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync: the driver's default pool, with few statistics."""

import ctypes

from . import figures
from .caching import OutOfMemoryError
from .device import check


class PoolAllocator:
    def __init__(self, device, release):
        self.device, self.release = device, release
        self._kept = False
        self.private, self.capturing, self.events = (0, 0), False, []

    def configure(self, settings):
        pass

    def _pool(self):
        pool = ctypes.c_void_p()
        check(self.device.cuda.cuDeviceGetDefaultMemPool(ctypes.byref(pool), self.device.ordinal))
        return pool

    def take(self, size):
        self.device.enter()
        cuda = self.device.cuda
        if not self._kept:  # keep freed memory, as PyTorch does
            most = ctypes.c_uint64(2**64 - 1)
            check(cuda.cuMemPoolSetAttribute(self._pool(), 4, ctypes.byref(most)))
            self._kept = True
        address = ctypes.c_ulonglong()
        code = cuda.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(size), None)
        if code == 2:
            more = "%d would exceed allowed memory." % self.device.ordinal if self.release > (2, 8) else ""
            raise OutOfMemoryError("Allocation on device " + more)
        check(code)
        return address

    def give(self, address):
        self.device.enter()
        check(self.device.cuda.cuMemFreeAsync(address, None))

    def empty(self):
        if self.device.entered():
            self.device.enter()
            check(self.device.cuda.cuCtxSynchronize())
            check(self.device.cuda.cuMemPoolTrimTo(self._pool(), ctypes.c_size_t(0)))

    def stats(self):
        # CUDAGuard makes the device's context.
        self.device.enter()
        used, used_high, reserved, reserved_high = (self._attribute(n) for n in (7, 8, 5, 6))
        stats = figures.empty(self.release)
        stats["max_split_size"] = 0
        for key, now, peak in (("allocated_bytes", used, used_high), ("active_bytes", used, used_high),
                               ("reserved_bytes", reserved, reserved_high)):
            stats[key]["all"] = figures.counter(now, peak)
        return stats

    def _attribute(self, number):
        value = ctypes.c_uint64()
        check(self.device.cuda.cuMemPoolGetAttribute(self._pool(), number, ctypes.byref(value)))
        return value.value

    def snapshot(self, history):
        raise RuntimeError(
            "Calling snapshot with backend:cudaMallocAsync is not meaningful. (For backend:native, snapshot returns a detailed "
            "summary of all blocks tracked by the allocator, but the cudaMallocAsync backend does not track individual blocks.)")
