"""PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync: the driver's default pool, with few statistics."""

import ctypes

from .device import check


class PoolAllocator:
    def __init__(self, device, release):
        self.device = device
        self._kept = False
        self.private, self.capturing = (0, 0), False

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
        check(cuda.cuMemAllocAsync(ctypes.byref(address), ctypes.c_size_t(size), None))
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
        figures = []
        for attribute in (7, 5):
            value = ctypes.c_uint64()
            check(self.device.cuda.cuMemPoolGetAttribute(self._pool(), attribute, ctypes.byref(value)))
            figures.append(value.value)
        nothing = {"current": 0, "peak": 0, "allocated": 0, "freed": 0}
        stats = {key: {"all": dict(nothing)} for key in ("active_bytes", "inactive_split_bytes", "segment")}
        for key, now in zip(("allocated_bytes", "reserved_bytes"), figures):
            stats[key] = {"all": {"current": now, "peak": now, "allocated": now, "freed": 0}}
        stats["num_ooms"] = stats["num_alloc_retries"] = 0
        return stats

    def snapshot(self, history):
        raise RuntimeError("cudaMallocAsync does not yet support snapshot.")
