"""The program's own functions run at every fork, in their order."""

import os

import zoo

calls = []
for name in ("one", "two"):
    os.register_at_fork(before=lambda name=name: calls.append("before " + name),
                        after_in_parent=lambda name=name: calls.append("parent " + name),
                        after_in_child=lambda name=name: calls.append("child " + name))
zoo.meet()
pid = os.fork()
if not pid:
    print(calls, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(calls)
zoo.end()
