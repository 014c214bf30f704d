"""Questions while another thread is inside a slow call of the driver.

The real memory_stats and _snapshot wait for the allocator's lock with the GIL. So do
those of the stand-in here. If the probe called them while the lock is held, the job
would stand still for ever, and let_go would never run.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

from harness import DRIVER, HERE, Case, until

LOCKS = """
import ctypes, _thread, time, torch, vramscope_probe as v
v._STATS_TIME = -1e9
locks, with_gil = ctypes.CDLL(%r), ctypes.PyDLL(%r)
real_stats, real_snapshot, real_empty = torch.cuda.memory_stats_as_nested_dict, torch.cuda.memory._snapshot, torch.cuda.empty_cache

def stats(device):
    with_gil.enter(device)
    return real_stats(device)

def snapshot(device=None):
    with_gil.enter(0), with_gil.enter(1)
    return real_snapshot()

def empty():
    locks.enter(0), locks.enter(1)  # without the GIL
    real_empty()

torch.cuda.memory_stats_as_nested_dict, torch.cuda.memory._snapshot, torch.cuda.empty_cache = stats, snapshot, empty

def hold(device):
    _thread.start_new_thread(locks.hold, (device,))
    while not locks.holds():
        time.sleep(0.001)

def let_go():
    locks.let_go()
    while locks.holds():
        time.sleep(0.001)
"""


@unittest.skipUnless(DRIVER, "needs a C compiler")
class Busy(Case):
    @classmethod
    def setUpClass(cls):
        cls.built = tempfile.mkdtemp(prefix="vramscope-test-")
        cls.addClassCleanup(shutil.rmtree, cls.built)
        cls.library = os.path.join(cls.built, "libc10_cuda.so")
        compiler = next(filter(shutil.which, filter(None, [os.environ.get("CC"), "cc", "gcc", "clang"])))
        subprocess.check_call([compiler, "-shared", "-fPIC", "-pthread", "-Wl,-soname,libc10_cuda.so",
                               "-o", cls.library, os.path.join(HERE, "c10_cuda.c")])

    def busy(self, *setup):
        return self.job(LOCKS % (self.library, self.library), "held = [torch.empty(30 << 20)]", *setup)

    def test_stats_are_stale_while_the_lock_is_held(self):
        job = self.busy()
        monitor = self.monitor(job)
        before = self.one(monitor)
        job.do("hold(0)")
        stale = [monitor.ask("stats") for _ in range(3)]
        self.assertEqual(job.do("held.append(real_stats(0)); 1"), 1, "the job stands still")
        self.assertEqual({answer["time_ns"] for answer in stale}, {stale[0]["time_ns"]})
        self.assertEqual([answer["devices"][0]["allocators"] for answer in stale], [[before]] * 3)
        self.assertGreater(int(job.do("time.time_ns()")), stale[0]["time_ns"])
        job.do("let_go(); held.append(torch.empty(40 << 20))")
        until("new stats", lambda: self.one(monitor)["allocated_bytes"] > before["allocated_bytes"])

    def test_the_first_question_while_the_lock_is_held(self):
        for device in 0, 1:
            with self.subTest(device):
                job = self.busy()
                job.do("hold(%d)" % device)
                monitor = self.monitor(job)
                answer = monitor.ask("stats")
                self.assertEqual((answer["ok"], answer["error"]["code"]), (False, "busy"), answer)
                job.do("let_go()")
                self.one(monitor)

    def test_a_map_waits_without_the_gil(self):
        job = self.busy()
        monitor = self.monitor(job)
        self.one(monitor)
        job.do("hold(1)")
        with tempfile.TemporaryFile(dir=self.directory) as file:
            monitor.send_file(file, cmd="snapshot")
            self.assertTrue(self.monitor(job).ask("stats")["ok"])
            job.do("let_go()")
            self.assertTrue(monitor.receive()["ok"])

    def test_a_flush_waits_without_the_gil(self):
        job = self.busy("held.append(torch.empty(50 << 20)); del held[1]")
        monitor = self.monitor(job)
        self.one(monitor)
        job.do("hold(0)")
        monitor.send(cmd="flush", level="gradual")
        self.assertTrue(self.monitor(job).ask("stats")["ok"])
        job.do("let_go()")
        self.assertEqual(monitor.receive()["devices"][0]["freed_bytes"], 50 << 20)

    def test_an_urgent_flush_goes_on_without_its_figure(self):
        """The figures that the lock hides are unknown. The garbage is collected and the cache is
        emptied in spite of that."""
        job = self.busy("import gc, weakref; gc.disable()", "class Node: pass", "n = Node(); n.self, n.tensor, gone = n, torch.empty(40 << 20), weakref.ref(n); del n",
                        "v.register_evictable('c', 1, lambda: hold(0)) and None")
        monitor = self.monitor(job)
        self.one(monitor)
        monitor.send(cmd="flush", level="urgent")
        until("the collection", lambda: job.do("gone() is None"))
        job.do("let_go()")
        (flushed,) = monitor.receive()["devices"]
        self.assertEqual(flushed["freed_bytes"], 40 << 20)
        self.assertNotIn("collected_bytes", flushed)

    def test_a_flush_and_a_map_do_not_wait_for_ever(self):
        job = self.busy("v._when_free.__defaults__ = (0.2,)")
        monitor = self.monitor(job)
        self.one(monitor)
        job.do("hold(0)")
        self.assertEqual(monitor.ask("flush", level="gradual")["error"]["code"], "busy")
        with tempfile.TemporaryFile(dir=self.directory) as file:
            monitor.send_file(file, cmd="snapshot")
            self.assertEqual(monitor.receive()["error"]["code"], "busy")
        job.do("let_go()")

    def test_a_lock_that_is_held_for_a_moment(self):
        """A program that allocates all the time is asked between two allocations."""
        job = self.busy("import threading\nend = []\ndef churn():\n    while not end:\n        locks.enter(0)\n"
                        "thread = threading.Thread(target=churn); thread.start()")
        monitor = self.monitor(job)
        times = set()
        until("new stats", lambda: times.add(monitor.ask("stats").get("time_ns")) or len(times - {None}) > 2)  # an answer may be "busy"
        job.do("end.append(1); thread.join()")

    def test_unknown_layouts_are_asked_as_before(self):
        """Without the symbol, or with another object behind it, the library is asked."""
        where = "ctypes.c_void_p.in_dll(locks, v._PyTorchLocks._SYMBOL)"
        for spoil in ("v._PyTorchLocks._SYMBOL = 'none'",
                      "_ = ctypes.memset(%s.value, 255, 1 << 15)" % where,
                      "%s.value = 4096" % where,
                      "_ = ctypes.memset(ctypes.addressof(ctypes.c_char.in_dll(locks, 'first')), 1, 24)"):
            with self.subTest(spoil):
                job = self.busy(spoil, "torch.cuda.memory_stats_as_nested_dict, torch.cuda.memory._snapshot = real_stats, real_snapshot")
                monitor = self.monitor(job)
                self.one(monitor)
                job.do("hold(1); held.append(torch.empty(40 << 20))")
                until("new stats", lambda: self.one(monitor)["allocated_bytes"] >= 70 << 20)
                self.assertEqual(job.do("v._agent.memory._torch.locks._locks"), ())
                job.do("let_go()")
