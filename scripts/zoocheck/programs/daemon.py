"""A daemon: it forks twice, and has its own session and no standard streams."""

import os
import sys

import zoo

work = os.getcwd()
if os.fork():
    sys.exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
os.umask(0o027)
null = os.open("/dev/null", os.O_RDWR)
for fd in range(3):
    os.dup2(null, fd)
os.closerange(3, 256)
zoo.meet()
with open(os.path.join(work, "intact" if zoo.intact() else "broken"), "w") as file:
    file.write("done")
