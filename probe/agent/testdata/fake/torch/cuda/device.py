"""A GPU of the stand-in: memory from libcuda.so.1, or simulated."""

import ctypes
import os
import types

MIB = 1 << 20


class AcceleratorError(RuntimeError):
    """The error of a CUDA call, since 2.8."""


class Device:
    @classmethod
    def all(cls, release):
        if os.environ.get("FAKE_TORCH_DRIVER"):
            cuda = ctypes.CDLL("libcuda.so.1")
            check(cuda.cuInit(0))
            count = ctypes.c_int()
            check(cuda.cuDeviceGetCount(ctypes.byref(count)))
            return [Device(n, release, cuda) for n in range(count.value)]
        return [Device(n, release, None) for n in range(int(os.environ.get("FAKE_TORCH_GPUS", "2")))]

    def __init__(self, ordinal, release, cuda):
        self.ordinal = ordinal
        self.cuda = cuda
        self.error = AcceleratorError if release >= (2, 8) else RuntimeError
        self.free = self.total = int(os.environ.get("FAKE_TORCH_TOTAL", 1024 * MIB))
        self._next = (ordinal + 1) << 40
        self._context = None
        self.properties = types.SimpleNamespace(name="NVIDIA H100 80GB HBM3", total_memory=self.total)
        if release >= (2, 4):
            self.properties.uuid = "8f1c0000-0000-0000-0000-%012d" % ordinal

    def enter(self):
        """cudaSetDevice: makes the device's primary context current in this thread, creating it if needed."""
        if self.cuda is None:
            self._context = True
            return
        if self._context is None:
            self._context = ctypes.c_void_p()
            check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), self.ordinal))
        check(self.cuda.cuCtxSetCurrent(self._context))

    def entered(self):
        return self._context is not None

    def take(self, size):
        """An address, or None if out of memory."""
        if self.cuda is not None:
            self.enter()
            address = ctypes.c_ulonglong()
            code = self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
            if code == 2:
                return None
            check(code)
            return address.value
        if size > self.free:
            return None
        self.free -= size
        self._next += size
        return self._next - size

    def left(self):
        if self.cuda is None:
            return self.free
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        check(self.cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
        return free.value

    def give(self, address, size):
        if self.cuda is not None:
            self.enter()
            check(self.cuda.cuMemFree_v2(ctypes.c_ulonglong(address)))
        else:
            self.free += size


def check(code):
    if code:
        raise RuntimeError("CUDA error %d" % code)
