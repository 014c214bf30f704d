import os
import pty

import zoo

zoo.meet()
pid, fd = pty.fork()
if not pid:
    os.execvp("sh", ["sh", "-c", "test -t 0 && echo terminal"])
try:
    print(repr(os.read(fd, 100)))
finally:
    os.waitpid(pid, 0)
zoo.end()
