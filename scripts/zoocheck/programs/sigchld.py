"""A handler of SIGCHLD waits for the children."""

import os
import signal

import zoo

ended, started = [], []


def handler(*_):
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        ended.append((pid, status))


signal.signal(signal.SIGCHLD, handler)


def step():
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    started.append(pid)
    while len(ended) < len(started):
        signal.pause() if False else zoo.time.sleep(0.001)


zoo.busy(step)
print(sorted(started) == sorted(pid for pid, _ in ended), {status for _, status in ended})
zoo.end()
