"""The probe and forked children."""

import os
import signal
import unittest

from harness import AGENT, TIMEOUT, Case, Monitor, until


def sockets_of(pid):
    """The sockets that a process has open."""
    return [link for link in files_of(pid) if link.startswith("socket:")]


def files_of(pid):
    """The files that a process has open. One may be closed meanwhile."""
    links = []
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink("/proc/%d/fd/%s" % (pid, name)))
        except FileNotFoundError:
            pass
    return links


class Fork(Case):
    FORK = "import os\npid = os.fork()\nif not pid:\n    %s\n"

    def test_a_child_of_a_serving_parent_does_not_serve(self):
        job = self.job("import torch, time; t = torch.empty(1)")
        path, monitor = job.socket(), self.monitor(job)
        self.assertTrue(monitor.ask("hello")["ok"])
        self.assertIsNone(job.do(self.FORK % "time.sleep(3600)"))
        child = job.do("pid")
        self.addCleanup(os.kill, child, signal.SIGKILL)
        until("the child to close its parent's sockets", lambda: not sockets_of(child))
        self.assertEqual(len(os.listdir("/proc/%d/task" % child)), 1)
        self.assertTrue(monitor.ask("stats")["ok"])
        job.process.kill()
        self.assertIsNone(monitor.receive(), "the connection ends with the parent")
        self.assertTrue(os.path.exists(path))

    def test_a_child_closes_its_parents_snapshot_file(self):
        job = self.job("import torch, time, threading; t = torch.empty(1); gate = threading.Event()",
                       "import vramscope_probe as v; v._SnapshotFile.write = lambda self, content: gate.wait() and len(content)")
        monitor, path = self.monitor(job), os.path.join(self.directory, "snapshot")
        with open(path, "wb") as file:
            monitor.send_file(file, cmd="snapshot", format="pytorch")
        until("the snapshot to begin", lambda: path in files_of(job.process.pid))
        self.assertIsNone(job.do(self.FORK % "time.sleep(3600)"))
        child = job.do("pid")
        self.addCleanup(os.kill, child, signal.SIGKILL)
        until("the child to close it", lambda: path not in files_of(child))
        self.assertIn(path, files_of(job.process.pid))
        job.do("gate.set()")
        self.assertTrue(monitor.receive()["ok"])

    def test_a_fork_does_not_wait_for_ever(self):
        job = self.job("import vramscope_probe as v, threading; v._FORK_TIME = 0.1; held = threading.Event()",
                       "def hold():\n    v._no_fork.acquire()\n    held.set()\n    threading.Event().wait()",
                       "threading.Thread(target=hold, daemon=True).start()", "assert held.wait(%d)" % TIMEOUT)
        for _ in range(2):
            self.assertIsNone(job.do(self.FORK % "free = v._no_fork.acquire(False); os._exit(7 if free else 8)"))
            self.assertEqual(job.do("os.waitpid(pid, 0)[1]"), 7 << 8)

    def test_a_child_collects_garbage(self):
        """The child does so even if the fork did not wait until the probe had switched the collector on again."""
        job = self.job("import vramscope_probe as v, gc, threading; v._FORK_TIME = 0.1; held = threading.Event()",
                       "def hold():\n    with v._CollectionOff():\n        held.set()\n        threading.Event().wait()",
                       "threading.Thread(target=hold, daemon=True).start()", "assert held.wait(%d)" % TIMEOUT)
        self.assertTrue(job.do("gc.get_threshold()[0] == v._STOPPED"))
        self.assertIsNone(job.do(self.FORK % "os._exit(7 if gc.get_threshold()[0] != v._STOPPED else 8)"))
        self.assertEqual(job.do("os.waitpid(pid, 0)[1]"), 7 << 8)

    def test_a_childs_exit_leaves_the_parents_socket(self):
        job = self.job("import torch, sys; t = torch.empty(1)")
        path = job.socket()
        self.assertIsNone(job.do(self.FORK % "import atexit; atexit._run_exitfuncs(); os._exit(0)"))
        self.assertEqual(job.do("os.waitpid(pid, 0)[1]"), 0)
        self.assertTrue(os.path.exists(path))
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_a_child_that_uses_a_gpu_itself_serves(self):
        job = self.job("import torch, time")
        until("the thread", lambda: "vramscope" in job.threads())
        self.assertIsNone(job.do(self.FORK % "t = torch.empty(5 << 20); time.sleep(3600)"))
        child = job.do("pid")
        self.addCleanup(os.kill, child, signal.SIGKILL)
        monitor = Monitor(job.socket(child))
        self.addCleanup(monitor.close)
        self.assertEqual(monitor.ask("hello")["pid"], child)
        self.assertEqual(self.one(monitor)["allocated_bytes"], 5 << 20)
        self.assertEqual(job.sockets(), [])

    def test_multiprocessing(self):
        methods = ["fork", "spawn", "forkserver"]
        for method in methods:
            with self.subTest(method):
                script = os.path.join(self.directory, "worker.py")
                with open(script, "w") as file:
                    file.write(WORKER % method)
                job = self.job("import runpy; result = runpy.run_path(%r, run_name='__main__')['result']" % script,
                               path=[self.directory])
                self.assertEqual(job.do("result"), [0, 1, 4, 9, 16, 25])
                self.assertEqual(job.end(), 0)
                self.assertEqual([n for n in os.listdir(os.path.join(self.directory, "run")) if n != "vramscope"], [])

    def test_subprocesses_inherit_nothing(self):
        job = self.job("import torch, subprocess, sys; t = torch.empty(1)")
        job.socket()
        listing = job.do("subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False, stdout=-1).stdout.decode()")
        self.assertNotIn("socket:", listing)
        self.assertEqual(job.do("subprocess.run([sys.executable, '-c', 'import torch'], preexec_fn=lambda: None).returncode"), 0)


WORKER = """
import multiprocessing, os, sys
import torch

def square(n):
    return n * n

result = None
if __name__ == "__main__":
    context = multiprocessing.get_context(%r)
    with context.Pool(2) as pool:
        result = pool.map(square, range(6))
        pool.close()
        pool.join()
"""


if __name__ == "__main__":
    unittest.main()
