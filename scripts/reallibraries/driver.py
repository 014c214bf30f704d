"""Asks the driver itself, without a library, about a GPU's memory."""

import contextlib
import ctypes

RESERVED, USED = 5, 7  # CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, …_USED_MEM_CURRENT


def free_memory(device):
    """The free bytes of a device that the program uses."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with context(device) as driver:
        check(driver.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total)))
    return free.value


def pool_memory(device):
    """The bytes that the device's default pool has reserved, those of them that are used, and the
    peaks of both."""
    pool, value = ctypes.c_void_p(), ctypes.c_uint64()
    found = []
    with context(device) as driver:
        check(driver.cuDeviceGetDefaultMemPool(ctypes.byref(pool), device))
        for attribute in (RESERVED, USED, RESERVED + 1, USED + 1):
            check(driver.cuMemPoolGetAttribute(pool, attribute, ctypes.byref(value)))
            found.append(value.value)
    return found


@contextlib.contextmanager
def context(device):
    """The driver, in the device's primary context, which the library keeps. Waits, so that what was freed
    on a stream is free."""
    driver, current = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(current), device))
    check(driver.cuCtxPushCurrent_v2(current))
    try:
        check(driver.cuCtxSynchronize())
        yield driver
    finally:
        driver.cuCtxPopCurrent_v2(ctypes.byref(current))
        driver.cuDevicePrimaryCtxRelease_v2(device)


def check(code):
    if code:
        raise OSError(f"the driver answers {code}")
