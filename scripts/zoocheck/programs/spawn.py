"""posix_spawn, and subprocess where it uses vfork."""

import os
import subprocess

import zoo


def step():
    pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 9"], os.environ)
    assert os.waitpid(pid, 0)[1] == 9 << 8
    assert subprocess.call(["/bin/true"], close_fds=False) == 0


zoo.busy(step)
zoo.end()
