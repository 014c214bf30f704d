import os
import signal
import socket

import zoo

reader, writer = socket.socketpair()
writer.setblocking(False)
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.set_wakeup_fd(writer.fileno())


def step():
    os.kill(os.getpid(), signal.SIGUSR1)
    assert reader.recv(1) == bytes([signal.SIGUSR1])


zoo.busy(step)
print(signal.set_wakeup_fd(-1) == writer.fileno())
zoo.end()
