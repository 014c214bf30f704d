"""Sets an attribute of the process with prctl(2): prctl.py OPTION VALUE."""

import ctypes
import sys

import zoo

option, value = int(sys.argv[1]), sys.argv[2]
argument = int(value) if value.isdigit() else value.encode()
print(ctypes.CDLL(None).prctl(option, argument, 0, 0, 0))
zoo.meet()
zoo.end()
