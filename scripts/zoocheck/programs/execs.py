"""Executes itself twice. Each of the three programs uses the GPU."""

import os
import sys

import zoo

number = int(sys.argv[1]) if len(sys.argv) > 1 else 0
zoo.meet(number)
zoo.end()
if number < 2:
    os.execv(sys.executable, [sys.executable, __file__, str(number + 1)])
