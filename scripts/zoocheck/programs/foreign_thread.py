"""A thread that C code has started calls Python all the time."""

import ctypes

import zoo

libc = ctypes.CDLL(None)
Start = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
stop, count = [], 0


def run(_):
    global count
    while not stop:
        zoo.work(20)
        count += 1
    return None


start, thread = Start(run), ctypes.c_ulong()
assert libc.pthread_create(ctypes.byref(thread), None, start, None) == 0
zoo.meet()
stop.append(True)
libc.pthread_join(thread, None)
print(count > 0)
zoo.end()
