"""C code holds the GIL, for the given seconds at a time."""

import ctypes
import sys

import zoo

python = ctypes.PyDLL(None)  # calls keep the GIL
pause = int(float(sys.argv[1]) * 1e6)
zoo.busy(lambda: python.usleep(pause))
zoo.end()
