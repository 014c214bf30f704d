"""Opens the given number of descriptors; with 0, as many as the limit permits."""

import os
import sys

import zoo

zoo.use()
count, held = int(sys.argv[1]), []
try:
    while not count or len(held) < count:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(error.strerror)
zoo.meet()
for fd in held:
    os.close(fd)
zoo.end()
