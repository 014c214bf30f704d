"""Forks all the time; the children compute."""

import os

import zoo


def step():
    pid = os.fork()
    if not pid:
        zoo.work(50)
        os._exit(5)
    assert os.waitpid(pid, 0)[1] == 5 << 8


zoo.busy(step)
zoo.end()
