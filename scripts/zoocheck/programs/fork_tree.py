"""Parent and child fork. Each of the four processes uses the GPU."""

import os

import torch  # noqa: F401

import zoo

children = []
for _ in range(2):
    pid = os.fork()
    children = [] if not pid else children + [pid]
zoo.meet()
for pid in children:
    assert os.waitpid(pid, 0)[1] == 0
zoo.end()
