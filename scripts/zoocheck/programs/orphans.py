"""A grandchild outlives the program, and uses the GPU."""

import os

import zoo

pid = os.fork()
if not pid:
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    while os.getppid() == parent:
        pass
    zoo.meet()
    zoo.end()
    os._exit(0)
os.waitpid(pid, 0)
print("parent", flush=True)
