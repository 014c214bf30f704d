"""Ends in one of many ways, which its argument names."""

import ctypes
import os
import signal
import sys

import zoo

zoo.meet()
print("ending", flush=True)
how = sys.argv[1]
if how == "exit":
    sys.exit(3)
elif how == "raise":
    raise ValueError("as it should")
elif how == "interrupt":
    os.kill(os.getpid(), signal.SIGINT)
    zoo.time.sleep(10)
elif how == "_exit":
    os._exit(7)
elif how == "abort":
    os.abort()
elif how == "crash":
    ctypes.string_at(0)
elif how in ("term", "kill"):
    os.kill(os.getpid(), {"term": signal.SIGTERM, "kill": signal.SIGKILL}[how])
    zoo.time.sleep(10)
