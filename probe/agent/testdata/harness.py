"""Starts a job, a Python program with the probe, and a monitor that connects to it."""

import array
import ast
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
AGENT = os.environ.get("VRAMSCOPE_AGENT") or os.path.dirname(HERE)  # vramscope env --directory probe/agent installs it there
TIMEOUT = 60  # seconds, enough for a slow machine
MIB, GIB = 1 << 20, 1 << 30
DRIVER = bool(os.environ.get("VRAMSCOPE_FAKE_STATE"))

# Makes each request read the stats again.
FRESH = """
import vramscope_probe as v
def report(self, fresh=False):
    self._due = 0
    return read(self)
read, v._Memory.report = v._Memory.report, report
"""


def until(what, condition):
    """Waits until condition() is true and returns its value. The files and processes that condition reads may vanish."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        try:
            found = condition()
        except (FileNotFoundError, ProcessLookupError):
            found = None
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("timed out waiting for " + what)


class Monitor:
    """One connection to a probe."""

    def __init__(self, path):
        self.sock = until("a listener", lambda: self.connect(path))
        self.file = self.sock.makefile("rb")

    @staticmethod
    def connect(path):
        sock = socket.socket(socket.AF_UNIX)
        sock.settimeout(TIMEOUT)
        try:
            sock.connect(path)
            return sock
        except (ConnectionRefusedError, FileNotFoundError, BlockingIOError):  # not listening yet, being replaced, or its queue is full
            sock.close()

    def send(self, **request):
        self.sock.sendall(json.dumps(dict({"id": 1}, **request)).encode() + b"\n")

    def send_file(self, *files, **request):
        """Sends a request with descriptors."""
        fds = array.array("i", [f if isinstance(f, int) else f.fileno() for f in files])
        line = json.dumps(dict({"id": 1}, **request)).encode() + b"\n"
        self.sock.sendmsg([line], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])

    def receive(self):
        line = self.file.readline()
        return json.loads(line) if line else None

    def ask(self, cmd, **fields):
        self.send(cmd=cmd, **fields)
        return self.receive()

    def close(self):
        self.file.close()
        self.sock.close()


class Case(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="vramscope-test-")
        self.addCleanup(shutil.rmtree, self.directory, True)

    def job(self, *setup, **options):
        """Starts a job, runs setup in it, and kills it after the test."""
        job = Job(self.directory, **options)
        self.addCleanup(job.kill)
        for code in setup:
            self.assertIsNone(job.do(code), code)
        return job

    def monitor(self, job):
        monitor = Monitor(job.socket())
        self.addCleanup(monitor.close)
        return monitor

    def allocators(self, monitor):
        """The stats as {UUID: [allocator, …]}. The parts of each allocator must add up."""
        report = monitor.ask("stats")
        self.assertTrue(report["ok"], report)
        for device in report["devices"]:
            for a in device["allocators"]:
                parts = [a.get(part + "_bytes") for part in ("allocated", "cached", "fragmented")]
                if None not in parts:
                    self.assertEqual(sum(parts), a["reserved_bytes"], a)
        return {d["uuid"]: d["allocators"] for d in report["devices"]}

    def one(self, monitor):
        """The one allocator of the one device."""
        (allocators,) = self.allocators(monitor).values()
        (allocator,) = allocators
        return allocator


class Job:
    """A Python program with the probe that executes code sent to it."""

    def __init__(self, directory, flags=(), probe=True, path=(), **environ):
        self.runtime = os.path.join(directory, "run")
        os.makedirs(self.runtime, exist_ok=True)
        self.environ = dict(os.environ, XDG_RUNTIME_DIR=self.runtime, VRAMSCOPE_PROBE_DEBUG="1", PYTHONFAULTHANDLER="1")
        if DRIVER:
            self.environ["FAKE_TORCH_DRIVER"] = "1"
        self.environ.update(environ)
        paths = ([AGENT] if probe else []) + list(path) + [os.path.join(HERE, "fake")]
        self.environ["PYTHONPATH"] = os.pathsep.join(paths)
        self.stderr = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, *flags, os.path.join(HERE, "job.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr, env=self.environ,
            universal_newlines=True,
        )

    def do(self, code):
        self.process.stdin.write(repr(code) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], TIMEOUT)[0]:
            self.process.send_signal(signal.SIGABRT)  # prints where the job's threads are
            self.process.wait()
            raise AssertionError("the job does not answer: " + self.errors())
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError("the job has ended: " + self.errors())
        return ast.literal_eval(answer)

    def errors(self):
        """The job's standard error."""
        self.stderr.seek(0)
        return self.stderr.read()

    def sockets(self, pid=None):
        """The paths of the job's sockets, at most one."""
        directory = os.path.join(self.runtime, "vramscope")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        wanted = "%d-" % (pid or self.process.pid)
        return [os.path.join(directory, n) for n in names if n.startswith(wanted)]

    def socket(self, pid=None):
        return until("the probe to serve: " + self.errors(), lambda: self.sockets(pid))[0]

    def threads(self):
        """The job's thread IDs by name."""
        base = "/proc/%d/task" % self.process.pid
        names = {}
        for tid in os.listdir(base):
            try:
                with open(os.path.join(base, tid, "comm")) as file:
                    names.setdefault(file.read().strip(), []).append(tid)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended
        return names

    def end(self):
        """Closes the job's input and returns its exit status."""
        self.process.stdin.close()
        status = self.process.wait(TIMEOUT)
        self.process.stdout.close()
        return status

    def kill(self):
        self.process.kill()
        self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.stderr):
            try:
                file.close()
            except BrokenPipeError:
                pass
