"""python -m vramscope becomes the program."""

import os
import sys

from . import Error, program

try:
    os.execv(program(), ["vramscope", *sys.argv[1:]])
except (Error, OSError) as error:
    sys.exit("vramscope: %s" % error)
