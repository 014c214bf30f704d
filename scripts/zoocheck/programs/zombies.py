"""Children for which the program waits only at its end."""

import os

import zoo

pids = []
for n in range(20):
    pids.append(os.fork())
    if not pids[-1]:
        os._exit(n)
zoo.meet()
print([os.waitpid(pid, 0)[1] >> 8 for pid in pids])
try:
    os.waitpid(-1, 0)
except ChildProcessError:
    print("no other child")
zoo.end()
