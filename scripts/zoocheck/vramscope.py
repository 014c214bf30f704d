"""The vramscope commands that act on a program of the zoo."""

import glob
import json
import os
import subprocess
import time

from zoocheck.programs.zoo import CACHED

CALL_SECONDS = 180   # a loaded machine may stand still for a minute
# How long to wait until a probe serves. A new probe looks for a GPU in use every half second. A test in which
# no probe ever comes sets ZOO_SECONDS to less.
SERVE_SECONDS = float(os.environ.get("ZOO_SECONDS", 30))
ATTACH_TIMEOUT = 1   # the exit code of an attach whose probe does not answer in time


class Failed(Exception):
    """vramscope has not done something that it should have done."""


class Vramscope:
    def __init__(self, path, environ):
        self.path, self.environ = path, environ

    def call(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, errors="replace",
                              env=self.environ, stdin=subprocess.DEVNULL, timeout=CALL_SECONDS)
        return done.returncode, done.stdout, done.stderr.strip()

    def attach(self, pid):
        """Attaches. Returns "", or the reason with which that was refused."""
        for attempt in range(2):
            code, out, errors = self.call("attach", str(pid), "--yes")
            if code == 0 or attempt and "has a probe already" in errors:
                return ""
            if code != ATTACH_TIMEOUT:
                return errors
        # On a loaded machine a probe may answer later than an attach waits, but not twice.
        return errors

    def flush(self, pid, seconds=0):
        """Flushes the program's cache. Returns "", or the reason why that was refused. In a program
        that has just started the probe may not serve yet, or the preloaded library may serve until
        the Python probe takes over. Then the flush is tried again.
        """
        end = time.monotonic() + seconds
        while True:
            code, out, errors = self.call("flush", str(pid), "--yes", "--format", "json")
            if code == 0:
                break
            if time.monotonic() > end:
                return errors
            time.sleep(0.2)
        flushed = json.loads(out)["flush"]
        freed = flushed["freed_bytes"], sum(d["driver_freed_bytes"] or 0 for d in flushed["devices"])
        if freed != (CACHED, CACHED):
            raise Failed("flush: %s bytes freed by the probe, %s by the driver, not %d" % (*freed, CACHED))
        return ""

    def refuses_flush(self, pid):
        """Raises Failed unless a flush is refused."""
        code, out, errors = self.call("flush", str(pid), "--yes")
        if code != 3:
            raise Failed("a flush without a probe: exit code %d: %s%s" % (code, out, errors))

    def await_probe(self, pid, seconds=SERVE_SECONDS):
        """Whether a process has a probe that listens within this many seconds."""
        directories = [os.path.join(self.environ["XDG_RUNTIME_DIR"], "vramscope"), "/tmp/vramscope-*"]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if any(glob.glob(os.path.join(d, "%d-*.sock" % pid)) for d in directories):
                return True
            time.sleep(0.05)
        return False
