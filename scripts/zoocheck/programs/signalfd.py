import ctypes
import os
import select
import signal
import struct

import zoo

libc = ctypes.CDLL(None, use_errno=True)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
mask = (ctypes.c_uint64 * 16)(1 << (signal.SIGUSR1 - 1))
fd = libc.signalfd(-1, ctypes.byref(mask), 0)
assert fd >= 0
seen = 0


def step():
    global seen
    os.kill(os.getpid(), signal.SIGUSR1)
    assert select.select([fd], [], [], 5)[0]
    assert struct.unpack("I", os.read(fd, 128)[:4])[0] == signal.SIGUSR1
    seen += 1


zoo.busy(step)
print(seen > 0)
zoo.end()
