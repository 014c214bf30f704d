"""Unusual programs, which must behave with the probe as they do without it."""

import os
import sys
import unittest

from harness import TIMEOUT, Case, until

TORCH = "import torch; t = torch.empty(1 << 20)"
QUICK = "import vramscope_probe as v; v._CHECK_TIME, v._BIND_TIME = 0.1, 0.0"
QUIET = {"VRAMSCOPE_PROBE_DEBUG": ""}

# Everything that reaches one of Python's hooks is printed.
HOOKS = """
import sys, threading
def hook(*arguments):
    print("hook:", arguments, file=sys.stderr, flush=True)
sys.excepthook = threading.excepthook = sys.unraisablehook = hook
"""


class Program(Case):
    def quiet(self, *setup, **options):
        """A job in which nothing may be written to standard error, warnings included."""
        return self.job(HOOKS, *setup, flags=["-X", "dev", "-W", "error"], **dict(QUIET, **options))

    def ends(self, job):
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.errors(), "")

    def serves(self, job):
        monitor = self.monitor(job)
        self.assertTrue(monitor.ask("hello")["ok"])
        return monitor.ask("stats")

    def test_it_closes_all_descriptors(self):
        # The program closes them as a daemon does, and gets the same numbers for its own files.
        job = self.quiet(QUICK, TORCH)
        before = self.monitor(job)
        self.assertTrue(before.ask("hello")["ok"])
        made = os.stat(job.socket()).st_ctime_ns
        path = os.path.join(self.directory, "file")
        job.do("import os, socket; os.closerange(3, 256); files = [open(%r + str(n), 'w+') for n in range(20)]; "
               "pair = socket.socketpair(); sent = pair[1].send(b'for the program')\n"
               "for file in files: file.write('text'); file.flush()" % path)
        until("a new socket", lambda: os.stat(job.socket()).st_ctime_ns != made)
        self.assertTrue(self.serves(job)["devices"])
        self.assertEqual(job.do("[(f.tell(), f.read()) for f in files] == [(4, '')] * 20, pair[0].recv(99)"),
                         (True, b"for the program"))
        for number in range(20):
            with open(path + str(number)) as file:
                self.assertEqual(file.read(), "text")
        self.assertIsNone(job.do("[f.close() for f in files + list(pair)] and None"))
        self.ends(job)

    def test_it_has_modules_by_the_names_of_the_standard_librarys(self):
        # The probe neither runs nor replaces these modules.
        for name in ("json", "select"):
            if name in sys.builtin_module_names:
                continue  # a built-in module comes before the program's
            with open(os.path.join(self.directory, name + ".py"), "w") as file:
                file.write("import sys; sys.stderr.write('run')\nown = 7\n")
            job = self.quiet(QUICK, path=[self.directory])
            self.assertIsNone(job.do("v._start(at_once=True)"))
            self.serves(job)
            self.assertEqual(job.do("import %s as module; module.own" % name), 7)
            self.assertEqual(job.end(), 0)
            self.assertEqual(job.errors(), "run")
            os.remove(os.path.join(self.directory, name + ".py"))

    def test_it_has_imported_a_module_by_the_name_of_the_standard_librarys(self):
        job = self.quiet(QUICK, "import types; sys.modules['select'] = own = types.ModuleType('select'); own.__file__ = '/own/select.py'")
        self.assertIn("a module of its own by the name of select", job.do("v._start(at_once=True)"))
        self.assertEqual(job.sockets(), [])
        self.assertTrue(job.do("sys.modules['select'] is own"))
        self.ends(job)

    def test_nothing_is_imported(self):
        # The program imports the same modules later.
        job = self.quiet(QUICK, "before = set(sys.modules)", "v._start(at_once=True)")
        self.serves(job)
        self.assertEqual(job.do("sorted(set(sys.modules) - before)"), [])
        self.assertIsNone(job.do("import atexit, ctypes, gc, json, select, socket; pair = socket.socketpair(); pair[0].send(b'x')\n"
                                 "assert pair[1].recv(1) == b'x' and ctypes.CDLL(None).getpid() > 0 and select.poll() and json.dumps({})\n"
                                 "[one.close() for one in pair]; del pair, atexit, ctypes, gc, json, select, socket"))
        self.serves(job)
        self.ends(job)
        self.assertEqual(job.sockets(), [])

    EXHAUST = ("import os\ndef exhaust():\n    held = []\n    try:\n        while True: held.append(os.dup(0))\n"
               "    except OSError: return held\nimport resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))")

    def test_no_descriptors_when_it_begins_to_serve(self):
        job = self.quiet(QUICK, "import torch", self.EXHAUST)
        until("the thread", lambda: "vramscope" in job.threads())
        job.do("import vramscope_probe as v; held = exhaust(); v._agent.at_once = True; v._agent.wake(); import time; time.sleep(1)")
        self.assertEqual(job.sockets(), [])
        job.do("[os.close(fd) for fd in held]; t = torch.empty(1 << 20)")
        self.assertTrue(self.serves(job)["devices"])
        self.ends(job)

    def test_no_descriptors_when_it_is_started(self):
        job = self.quiet(QUICK, self.EXHAUST)
        reason = job.do("held = exhaust(); reason = v._start(at_once=True); [os.close(fd) for fd in held]; reason")
        self.assertEqual(reason, "OSError: [Errno 24] Too many open files: '/proc/thread-self/status'")
        self.assertIsNone(job.do("v._start(at_once=True)"))
        self.serves(job)
        self.ends(job)

    def test_no_descriptors_for_a_monitor(self):
        job = self.quiet(QUICK, TORCH, self.EXHAUST)
        monitor = self.monitor(job)
        self.assertTrue(monitor.ask("hello")["ok"])
        job.do("held = exhaust()")
        late = self.monitor(job)
        self.assertTrue(monitor.ask("stats")["ok"])
        self.assertTrue(monitor.ask("flush", level="urgent")["ok"])
        job.do("[os.close(fd) for fd in held] and None")
        self.assertTrue(late.ask("stats")["ok"])
        self.ends(job)

    def test_no_thread(self):
        job = self.quiet("import vramscope_probe as v\ndef no(*a): raise RuntimeError(\"can't start new thread\")",
                         "v._start_new_thread = no", TORCH)
        self.assertEqual(job.do("v._start(at_once=True)"), "RuntimeError: can't start new thread")
        self.ends(job)

    def test_no_thread_for_a_task(self):
        job = self.quiet(TORCH, "import vramscope_probe as v\ndef no(*a): raise RuntimeError(\"can't start new thread\")",
                         "v.register_evictable('cache', 1, print, lambda: 5) and None")
        monitor = self.monitor(job)
        job.do("v._start_new_thread = no")
        self.assertEqual(monitor.ask("hello")["evictable"], [{"name": "cache", "priority": 1}])
        self.assertIn("can't start new thread", monitor.ask("flush", level="gradual")["error"]["message"])
        self.assertTrue(monitor.ask("stats")["ok"])
        self.ends(job)

    def test_nowhere_to_listen(self):
        # A full or read-only file system, a file in the way.
        job = self.quiet(QUICK, "v._Listener._directories = lambda self: ['/proc/none/x', '/proc/self/x', '/dev/null/x']",
                         TORCH, "import time; time.sleep(1)")
        self.ends(job)

    def test_caches_that_raise_whatever_they_like(self):
        job = self.quiet(TORCH, "import vramscope_probe as v",
                         "def broken(what):\n    def evict(): raise what\n    v.register_evictable(what.__name__, 1, evict, evict)",
                         "broken(SystemExit); broken(KeyboardInterrupt); broken(GeneratorExit); broken(MemoryError)")
        monitor = self.monitor(job)
        self.assertTrue(monitor.ask("hello")["ok"])
        self.assertIsNotNone(monitor.ask("flush", level="selective"))
        self.assertTrue(monitor.ask("stats")["ok"])
        self.ends(job)

    def test_its_modules_have_been_replaced(self):
        job = self.quiet(
            "import builtins, json, os, select, socket, threading, time, _thread, torch, vramscope_probe",
            "ident, main = _thread.get_ident, _thread.get_ident()",
            "def own(original):\n    def own(*a, **k):\n        if ident() != main: raise AssertionError('the program has replaced it')\n"
            "        return original(*a, **k)\n    return own",
            "for module, names in ((time, 'time time_ns monotonic sleep'), (os, 'open read write close stat fstat mkdir'),"
            " (socket, 'socket socketpair'), (select, 'select'), (_thread, 'start_new_thread allocate_lock'),"
            " (threading, 'Thread Lock'), (builtins, 'open'), (json, 'loads dumps')):\n"
            "    for name in names.split(): setattr(module, name, own(getattr(module, name)))",
            "t = torch.empty(1 << 20)")
        report = self.serves(job)
        self.assertGreater(report["time_ns"], 1 << 60)
        self.ends(job)

    def test_times_of_freezegun(self):
        try:
            import freezegun  # noqa: F401
        except ImportError:
            self.skipTest("no freezegun")
        job = self.quiet("import freezegun", TORCH, "f = freezegun.freeze_time('2001-01-01'); f.start() and None")
        before = self.serves(job)["time_ns"]
        self.assertGreater(before, 1 << 60)
        job.do("t = torch.empty(1 << 20)")
        monitor = self.monitor(job)
        until("newer stats", lambda: monitor.ask("stats")["time_ns"] > before)

    def test_an_audit_hook_that_refuses_everything(self):
        job = self.quiet("import sys, threading, torch\ndef refuse(event, arguments):\n"
                         "    if refusing and threading.get_ident() != main: raise RuntimeError('refused: ' + event)",
                         "main, refusing = threading.get_ident(), False; sys.addaudithook(refuse)")
        until("the thread", lambda: "vramscope" in job.threads())
        job.do("refusing = True; t = torch.empty(1 << 20); import time; time.sleep(1)")
        self.assertEqual(job.sockets(), [])
        self.ends(job)

    @unittest.skipIf(sys.version_info < (3, 12), "new in 3.12")
    def test_a_profiler_of_all_threads_that_raises(self):
        for profiler in ("setprofile", "settrace"):
            with self.subTest(profiler):
                job = self.quiet("import sys, threading", TORCH, "def refuse(*a):\n    if threading.get_ident() != main: raise RuntimeError('refused')",
                                 "main = threading.get_ident()")
                monitor = self.monitor(job)
                self.assertTrue(monitor.ask("hello")["ok"])
                job.do("threading.%s_all_threads(refuse)" % profiler)
                try:
                    self.assertIsNone(monitor.ask("hello"))
                except ConnectionError:
                    pass  # it has ended already
                job.do("threading.%s_all_threads(None)" % profiler)
                self.ends(job)


if __name__ == "__main__":
    unittest.main()
