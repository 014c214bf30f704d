"""An ordinary ctypes program that uses both libraries: it allocates, and prints what NVML lists for it."""
import ctypes
import os
import sys

cuda = ctypes.CDLL("libcuda.so.1")
nvml = ctypes.CDLL("libnvidia-ml.so.1")


class ProcessInfo(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong), ("gi", ctypes.c_uint), ("ci", ctypes.c_uint)]


class Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


def check(code):
    if code:
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(name))
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise RuntimeError(f"{name.value.decode()}: {text.value.decode()}")


def report():
    device = ctypes.c_void_p()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    infos, count = (ProcessInfo * 100)(), ctypes.c_uint(100)
    assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), infos) == 0
    memory = Memory()
    assert nvml.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory)) == 0
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    check(cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    own = [p.used for p in infos[: count.value] if p.pid == os.getpid()]
    print(*own, free.value, memory.free, flush=True)


pointer, pooled = ctypes.c_ulonglong(), ctypes.c_ulonglong()
for line in sys.stdin:
    command, *argument = line.split()
    if command == "start":
        check(cuda.cuInit(0))
        assert nvml.nvmlInit_v2() == 0
        context = ctypes.c_void_p()
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
        check(cuda.cuCtxSetCurrent(context))
    elif command == "alloc":
        check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(int(argument[0]))))
    elif command == "async":
        check(cuda.cuMemAllocAsync(ctypes.byref(pooled), ctypes.c_size_t(int(argument[0])), None))
    elif command == "trim":
        pool = ctypes.c_void_p()
        check(cuda.cuDeviceGetDefaultMemPool(ctypes.byref(pool), 0))
        check(cuda.cuMemPoolTrimTo(pool, ctypes.c_size_t(0)))
    elif command == "free":
        check(cuda.cuMemFreeAsync(pooled, None))
        check(cuda.cuCtxSynchronize())
    elif command == "again":
        assert nvml.nvmlShutdown() == 0
        assert nvml.nvmlInit_v2() == 0
    elif command == "error":
        try:
            check(cuda.cuMemFree_v2(pooled))
        except RuntimeError as error:
            print(error, flush=True)
        continue
    report()
