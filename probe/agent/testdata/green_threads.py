"""Programs whose threads are greenlets: gevent, eventlet, and gunicorn with either.

The probe's thread must be a real one there, and a flush must not stop the loop.
"""

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from harness import AGENT, HERE, TIMEOUT, Case, Monitor, until

PATCH = {
    "gevent": "from gevent import monkey; monkey.patch_all(); from gevent import spawn, sleep",
    "eventlet": "import eventlet; eventlet.monkey_patch(); from eventlet import spawn, sleep",
}

# evict keeps its thread busy until the loop has run, which would never happen if evict ran in the
# loop's thread. The C library's sleep is not replaced.
PROGRAM = """
import ctypes, os, sys
ticks = [0]

def evict():
    seen = ticks[0]
    for _ in range(%d * 100):
        if ticks[0] > seen + 5:
            return
        ctypes.PyDLL(None).usleep(1) or ctypes.CDLL(None).usleep(10000)
    raise TimeoutError("the loop stands still")

def tick():
    while True:
        ticks[0] += 1
        sleep(0.01)
""" % TIMEOUT

END = """
import vramscope_probe
vramscope_probe.register_evictable("cache", 1, evict)
spawn(tick)
print(vramscope_probe._start() or "started", flush=True)
while not os.path.exists(sys.argv[1]):
    sleep(0.05)
print("ends", threading.active_count(), flush=True)
"""

TORCH = "import threading, torch; t = torch.empty(30 << 20); t = None\n"


class Green(Case):
    def run_program(self, program, at_import):
        """Starts a program, which runs until self.gate exists."""
        self.runtime = tempfile.mkdtemp(dir=self.directory)
        self.gate = os.path.join(self.runtime, "gate")
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", program, self.gate], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, start_new_session=True, env=self.environ(at_import))
        self.addCleanup(self.reap, self.process)
        self.said = self.process.stdout.readline()

    def environ(self, probe):
        paths = ([AGENT] if probe else []) + [os.path.join(HERE, "fake"), self.directory]
        return dict(os.environ, XDG_RUNTIME_DIR=self.runtime, PYTHONPATH=os.pathsep.join(paths))

    def reap(self, process):
        try:
            os.killpg(process.pid, signal.SIGKILL)  # gunicorn's workers too
        except ProcessLookupError:
            pass
        process.communicate()

    def socket(self):
        directory = os.path.join(self.runtime, "vramscope")
        return until("the probe", lambda: [os.path.join(directory, n) for n in os.listdir(directory)])[0]

    def check(self, pid):
        """Checks that the probe is a thread of its own, and flushes while the loop runs."""
        monitor = Monitor(self.socket())
        self.addCleanup(monitor.close)
        self.assertEqual(monitor.ask("hello")["pid"], pid)
        names = {}
        for tid in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/comm" % (pid, tid)) as file:
                names[int(tid)] = file.read().strip()
        self.assertNotEqual(names.pop(pid), "vramscope")
        self.assertIn("vramscope", names.values())
        answer = monitor.ask("flush", level="selective")
        self.assertIn("emptied cache", answer["notes"], answer)
        self.assertTrue(monitor.ask("stats")["ok"])

    def ends(self):
        open(self.gate, "w").close()
        out, errors = self.process.communicate(timeout=TIMEOUT)
        self.assertEqual((self.process.returncode, out, errors), (0, "ends 1\n", ""))

    def test_patched_before_and_after_torch(self):
        for name, patch in PATCH.items():
            for order in ([patch, TORCH], [TORCH, patch]):
                with self.subTest(name, first=order[0] == patch):
                    self.run_program(PROGRAM + "\n".join(order) + END, at_import=True)
                    self.check(self.process.pid)
                    self.ends()

    def test_the_probe_comes_later(self):
        # The probe is started as by attach, in a program that has patched everything.
        for name, patch in PATCH.items():
            with self.subTest(name):
                self.run_program(PROGRAM + patch + "\n" + TORCH + "sys.path.insert(0, %r)" % AGENT + END, at_import=False)
                self.check(self.process.pid)
                self.ends()

    def test_other_replacements(self):
        # If the originals of replaced functions are unknown, there is no probe, and a reason is given.
        for function, wrapped in (("start_new_thread", "_thread"), ("allocate_lock", "_thread"), ("poll", "select")):
            with self.subTest(function):
                self.run_program(
                    "import os, sys, threading, %s as m\n" % wrapped + "from time import sleep; spawn = evict = tick = lambda *a: None\n"
                    "original = m.%s\nm.%s = lambda *a: original(*a)\n" % (function, function)
                    + TORCH + "sys.path.insert(0, %r)" % AGENT + END, at_import=False)
                self.assertEqual(self.said, "RuntimeError: the program has replaced %s.%s: the probe would run in its event loop\n"
                                 % (wrapped, function))
                self.ends()

    def test_forks(self):
        for name, patch in PATCH.items():
            with self.subTest(name):
                fork = ("import threading, torch\npid = os.fork()\nif pid:\n    print('forked', flush=True)\n"
                        "    assert os.waitpid(pid, 0)[1] == 0\n    print('ends 1')\n    sys.exit()\n"
                        "sys.stdout = open(os.devnull, 'w')\n")
                self.run_program(PROGRAM + patch + "\n" + fork + TORCH + END, at_import=True)
                child = int(os.path.basename(self.socket()).partition("-")[0])
                self.assertNotEqual(child, self.process.pid)
                self.check(child)
                self.ends()

    def test_gunicorn(self):
        with open(os.path.join(self.directory, "app.py"), "w") as file:
            file.write(APP)
        for worker in PATCH:
            for early in (True, False):
                with self.subTest(worker, torch_at_import=early):
                    self.gunicorn(worker, dict(TORCH_EARLY="1") if early else {})

    def gunicorn(self, worker, extra):
        self.runtime = tempfile.mkdtemp(dir=self.directory)
        address = os.path.join(self.runtime, "http")
        command = [sys.executable, "-W", "ignore", "-m", "gunicorn", "-k", worker, "-w", "1", "-b", "unix:" + address, "app:app"]
        server = subprocess.Popen(command, env=dict(self.environ(True), **extra), cwd=self.directory,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, start_new_session=True)
        self.addCleanup(self.reap, server)
        first = until("gunicorn", lambda: self.get(address))
        self.assertIn(b"torch 2.6.0", first)
        self.check(int(first.split()[-1]))
        self.assertEqual(self.get(address), first)
        server.send_signal(signal.SIGTERM)
        _, errors = server.communicate(timeout=TIMEOUT)
        self.assertEqual(server.returncode, 0, errors)
        self.assertNotIn("Traceback", errors)

    def get(self, address):
        connection = http.client.HTTPConnection("localhost", timeout=TIMEOUT)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(TIMEOUT)
        try:
            connection.sock.connect(address)
        except (FileNotFoundError, ConnectionRefusedError):  # not listening yet
            connection.close()
            return None
        connection.request("GET", "/")
        answer = connection.getresponse().read()
        connection.close()
        return answer


APP = """
import os
if os.environ.get("TORCH_EARLY"):
    import torch
from time import sleep as sleep_at_import
%s
started = []

def app(environ, start_response):
    import time, threading, torch, vramscope_probe
    global sleep
    sleep = time.sleep
    if not started:
        started.append(torch.empty(1 << 20))
        vramscope_probe.register_evictable("cache", 1, evict)
        threading.Thread(target=tick, daemon=True).start()
    start_response("200 OK", [])
    return [b"torch %%s in %%d" %% (torch.__version__.encode(), os.getpid())]
""" % PROGRAM.replace("%", "%%")


if __name__ == "__main__":
    unittest.main()
