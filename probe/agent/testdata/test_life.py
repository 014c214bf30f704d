"""How the probe comes, lives beside the program, and goes."""

import os
import shutil
import signal
import socket
import stat
import sys
import unittest

from harness import AGENT, PATIENCE, Case, Monitor, until


class Start(Case):
    def test_a_program_without_a_gpu_library_is_left_alone(self):
        job = self.job("import json, socket, threading, email.mime.text", "import importlib.util",
                       "found = importlib.util.find_spec('torch') is not None", "assert found")
        self.assertEqual(len(sum(job.threads().values(), [])), 1)
        job.do("import sys")
        self.assertTrue(job.do("'vramscope_probe' in sys.modules"))

    def test_torch_that_is_not_initialised_stays_so(self):
        job = self.job("import torch")
        until("the thread", lambda: "vramscope" in job.threads())
        job.do("import time; time.sleep(1.5)")
        self.assertEqual(job.do("torch.cuda.is_initialized(), torch.cuda.contexts()"), (False, []))
        self.assertEqual(job.sockets(), [])
        self.assertIsNone(job.do("torch.cuda.set_device(1)"))
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("hello")["runtimes"], [{"name": "PyTorch", "version": "2.6.0"}])

    def test_imported_after_torch(self):
        job = self.job("import torch; t = torch.empty(1 << 20)", "import vramscope_probe", probe=False,
                       path=[os.path.dirname(os.path.dirname(os.path.abspath(__file__)))])
        self.assertTrue(self.monitor(job).ask("stats")["devices"])

    def test_how_it_came(self):
        job = self.job("import torch; t = torch.empty(1)")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")
        job = self.job("import torch, vramscope_probe; t = torch.empty(1)", probe=False,
                       path=[os.path.dirname(os.path.dirname(os.path.abspath(__file__)))], flags=["-S"])
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "import")
        job = self.job("import vramscope_probe as v; v._start(at_once=True, started_by='attach')")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "attach")

    def test_it_is_no_thread_of_the_program(self):
        job = self.job("import torch, threading, signal; t = torch.empty(1)")
        job.socket()
        self.assertEqual(job.do("threading.active_count(), len(threading.enumerate())"), (1, 1))
        (tid,) = job.threads()["vramscope"]
        with open("/proc/%d/task/%s/status" % (job.process.pid, tid)) as file:
            blocked = int(next(line.split()[1] for line in file if line.startswith("SigBlk")), 16)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGCHLD):
            self.assertTrue(blocked >> (number - 1) & 1, number)
        self.assertFalse(blocked >> (signal.SIGSEGV - 1) & 1)
        self.assertEqual(job.do("list(signal.pthread_sigmask(signal.SIG_BLOCK, []))"), [])

    def test_no_thread_to_be_had(self):
        job = self.job("import _thread\ndef no(*a): raise RuntimeError(\"can't start new thread\")",
                       "_thread.start_new_thread = no", "import torch; t = torch.empty(1)", VRAMSCOPE_PROBE_DEBUG="")
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.said(), "")

    def test_interpreters_flags(self):
        for flags in (["-X", "dev", "-W", "error"], ["-O"], ["-B", "-s"], ["-u", "-v"], ["-X", "importtime"]):
            with self.subTest(flags=flags):
                job = self.job("import torch; t = torch.empty(1 << 20)", flags=flags)
                self.assertTrue(self.monitor(job).ask("stats")["devices"])
                self.assertEqual(job.end(), 0)
                if "dev" in flags:
                    self.assertEqual(job.said(), "")


class Socket(Case):
    # An end that waits for the probe as long as a loaded machine takes.
    UNHURRIED = "import vramscope_probe; vramscope_probe._LEAVE_TIME = %d" % PATIENCE

    def test_modes_and_names(self):
        job = self.job("import torch; t = torch.empty(1)")
        path = job.socket()
        hello = self.monitor(job).ask("hello", proto="vramscope/1")
        self.assertEqual(os.path.basename(path), "%d-%d.sock" % (hello["pid"], hello["starttime"]))
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.lstat(os.path.dirname(path)).st_mode), 0o700)

    def test_a_directory_that_cannot_be_trusted_is_not_used(self):
        for name, arrange in (
            ("a link", lambda path: os.symlink(os.path.dirname(path), path)),
            ("open to others", lambda path: (os.mkdir(path), os.chmod(path, 0o755))),
            ("a file", lambda path: open(path, "w").close()),
        ):
            with self.subTest(name):
                runtime = os.path.join(self.directory, name)
                os.makedirs(runtime)
                arrange(os.path.join(runtime, "vramscope"))
                job = self.job(self.UNHURRIED, "import torch; t = torch.empty(1)", XDG_RUNTIME_DIR=runtime)
                usual = "/tmp/vramscope-%d" % os.geteuid()
                mine = "%d-" % job.process.pid
                until("the other directory", lambda: os.path.isdir(usual) and any(
                    n.startswith(mine) for n in os.listdir(usual)))
                self.assertEqual(job.end(), 0)
                self.assertFalse(any(n.startswith(mine) for n in os.listdir(usual)))

    def test_nowhere_to_serve(self):
        job = self.job("import vramscope_probe as v", "v._Place._directories = lambda self: ['/proc/none/x']",
                       "import torch; t = torch.empty(1)", "import time; time.sleep(1)")
        self.assertEqual(job.end(), 0)

    def test_a_removed_directory(self):
        job = self.job("import vramscope_probe; vramscope_probe._PLACE_TIME = 0.1", "import torch; t = torch.empty(1)")
        path = job.socket()
        before = self.monitor(job)
        self.assertTrue(before.ask("hello")["ok"])
        os.rename(os.path.dirname(path), os.path.join(self.directory, "gone"))  # all at once
        self.assertTrue(self.monitor(job).ask("hello")["ok"])
        self.assertTrue(before.ask("hello")["ok"], "a connection that is open stays")

    def test_stale_sockets(self):
        directory = os.path.join(self.directory, "run", "vramscope")
        os.makedirs(directory, 0o700)
        names = ["4194303-1.sock", "4194303-2.sock", "4194303-3.sock"]
        for name in names[:2]:
            dead = socket.socket(socket.AF_UNIX)
            dead.bind(os.path.join(directory, name))
            dead.close()
        living = socket.socket(socket.AF_UNIX)
        self.addCleanup(living.close)
        living.bind(os.path.join(directory, names[2]))
        living.listen(1)
        for name in (names[0], names[2]):
            os.utime(os.path.join(directory, name), (1, 1))
        job = self.job("import torch; t = torch.empty(1)")
        job.socket()
        self.assertEqual(sorted(n for n in os.listdir(directory) if n in names), names[1:])

    def test_a_second_probe_does_not_serve(self):
        job = self.job("import torch; t = torch.empty(1)")
        inode = os.stat(job.socket()).st_ino
        job.do("import vramscope_probe as v; second = v._Agent(v._evictable); second.start(); import time; time.sleep(1)")
        self.assertEqual(os.stat(job.socket()).st_ino, inode)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_user_is_refused(self):
        job = self.job("import vramscope_probe; vramscope_probe._PLACE_TIME = 3600", "import torch; t = torch.empty(1)")
        path = job.socket()
        self.assertTrue(self.monitor(job).ask("hello")["ok"])
        # The directory keeps others out; what is behind it must do so, too.
        for name, mode in ((self.directory, 0o755), (os.path.dirname(path), 0o711), (path, 0o666)):
            os.chmod(name, mode)
        os.seteuid(65534)
        try:
            monitor = Monitor(path)
        finally:
            os.seteuid(0)
        self.addCleanup(monitor.close)
        answer = monitor.receive()
        self.assertEqual((answer["id"], answer["error"]["code"]), (None, "forbidden"))
        self.assertIsNone(monitor.receive())

    def test_too_many_and_silent_monitors(self):
        job = self.job("import vramscope_probe; vramscope_probe._IDLE_TIME = vramscope_probe._LINE_TIME = 3600",
                       "import torch; t = torch.empty(1)")
        monitors = [self.monitor(job) for _ in range(16)]
        for monitor in monitors:
            self.assertTrue(monitor.ask("hello")["ok"])
        monitors[0].sock.sendall(b'{"id":1,"cmd":')  # and no more
        late = self.monitor(job)
        self.assertEqual(late.receive()["error"]["code"], "busy")
        self.assertTrue(monitors[15].ask("stats")["ok"])
        monitors[3].close()
        until("a place", lambda: self.served(job))

    def served(self, job):
        """Whether there is a place for one more; where there is none, the connection is closed."""
        try:
            answer = self.monitor(job).ask("hello")
        except ConnectionError:
            return False
        return answer and answer.get("ok")

    def test_monitors_that_do_not_listen_and_do_not_end_are_dropped(self):
        job = self.job("import vramscope_probe as v; v._WRITE_TIME = v._LINE_TIME = 0.2",
                       "import torch; t = torch.empty(1)")
        slow = self.monitor(job)
        slow.sock.sendall(b'{"id":1,')
        self.assertIsNone(slow.receive(), "an unfinished line")
        deaf = self.monitor(job)
        deaf.sock.settimeout(PATIENCE)
        with self.assertRaises(ConnectionError):
            while True:
                deaf.send(cmd="hello")
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_requests_behind_a_flush(self):
        job = self.job("import torch; t = torch.empty(30 << 20); del t")
        monitor = self.monitor(job)
        monitor.sock.sendall(b'{"id":1,"cmd":"flush","level":"urgent"}\n{"id":2,"cmd":"hello"}\n{"id":3,"cmd":"bye"}\n')
        self.assertEqual([monitor.receive()["id"] for _ in range(3)], [1, 2, 3])
        self.assertIsNone(monitor.receive())


class End(Case):
    def test_its_socket_goes_with_it(self):
        job = self.job(Socket.UNHURRIED, "import torch; t = torch.empty(1)")
        path = job.socket()
        self.assertEqual(job.end(), 0)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(job.said(), "")

    def test_exit_status_and_signals_are_the_programs(self):
        job = self.job("import torch, atexit, os; t = torch.empty(1)")
        job.socket()
        job.process.stdin.write(repr("raise SystemExit(7)") + "\n")
        job.process.stdin.flush()
        self.assertEqual(job.process.wait(PATIENCE), 7)
        for number in (signal.SIGTERM, signal.SIGKILL):
            job = self.job("import torch; t = torch.empty(1)")
            job.socket()
            job.process.send_signal(number)
            self.assertEqual(job.process.wait(PATIENCE), -number)

    def test_a_flush_that_hangs_does_not_hold_the_end(self):
        job = self.job("import torch, time, vramscope_probe; t = torch.empty(1)",
                       "vramscope_probe.register_evictable('hangs', 1, lambda: time.sleep(3600)) and None")
        monitor = self.monitor(job)
        monitor.send(cmd="flush", level="selective")
        other = self.monitor(job)
        until("the flush", lambda: other.ask("flush", level="gradual")["error"]["code"] == "busy")
        self.assertTrue(other.ask("stats")["ok"])
        self.assertEqual(job.end(), 0)

    def test_a_first_thread_that_has_ended(self):
        job = self.job("import torch, threading; t = torch.empty(1)",
                       "def work():\n    threading.main_thread().join(); print('alone', flush=True); threading.Event().wait(3600)",
                       "threading.Thread(target=work).start()")
        monitor = self.monitor(job)
        job.process.stdin.close()
        self.assertEqual(job.process.stdout.readline(), "alone\n")
        answer = monitor.ask("flush", level="gradual", dry_run=True)
        if (3, 12) <= sys.version_info < (3, 12, 3):
            self.assertEqual(answer["error"], {"code": "internal", "message":
                "a flush needs a thread: the program's first thread has ended, and Python 3.12.0 to 3.12.2 start no other one then; "
                "have the first thread wait for the others (join), use a newer Python"})
        else:
            self.assertTrue(answer["ok"], answer)
        self.assertTrue(monitor.ask("stats")["ok"])

    def test_exec_takes_the_name_over(self):
        job = self.job("import torch; t = torch.empty(1)")
        old = os.stat(job.socket()).st_ctime_ns
        job.process.stdin.write(repr("import os, sys; os.execv(sys.executable, [sys.executable] + sys.argv)") + "\n")
        self.assertIsNone(job.do("import torch; t = torch.empty(1)"))
        until("the new socket", lambda: os.stat(job.socket()).st_ctime_ns != old)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])


def sockets_of(pid):
    """The process's descriptors that are sockets."""
    return [link for link in files_of(pid) if link.startswith("socket:")]


def files_of(pid):
    """What the process's descriptors lead to. One may be closed while we look."""
    links = []
    for name in os.listdir("/proc/%d/fd" % pid):
        try:
            links.append(os.readlink("/proc/%d/fd/%s" % (pid, name)))
        except FileNotFoundError:
            pass
    return links


class Fork(Case):
    FORK = "import os\npid = os.fork()\nif not pid:\n    %s\n"

    def test_a_child_of_a_serving_parent_is_no_probe(self):
        job = self.job("import torch, time; t = torch.empty(1)")
        path, monitor = job.socket(), self.monitor(job)
        self.assertTrue(monitor.ask("hello")["ok"])
        self.assertIsNone(job.do(self.FORK % "time.sleep(3600)"))
        child = job.do("pid")
        self.addCleanup(os.kill, child, signal.SIGKILL)
        until("the child to close what is its parent's", lambda: not sockets_of(child))
        self.assertEqual(len(os.listdir("/proc/%d/task" % child)), 1)
        self.assertTrue(monitor.ask("stats")["ok"])
        job.process.kill()
        self.assertIsNone(monitor.receive(), "the connection ends with the parent")
        self.assertTrue(os.path.exists(path))

    def test_a_child_closes_what_its_parent_was_lent(self):
        job = self.job("import torch, time, threading; t = torch.empty(1); gate = threading.Event()",
                       "import vramscope_probe as v; v._Lent.write = lambda lent, content: gate.wait() and len(content)")
        monitor, path = self.monitor(job), os.path.join(self.directory, "snapshot")
        with open(path, "wb") as file:
            monitor.send_file(file, cmd="snapshot", format="pytorch")
        until("it to be taken", lambda: path in files_of(job.process.pid))
        self.assertIsNone(job.do(self.FORK % "time.sleep(3600)"))
        child = job.do("pid")
        self.addCleanup(os.kill, child, signal.SIGKILL)
        until("the child to close it", lambda: path not in files_of(child))
        self.assertIn(path, files_of(job.process.pid))
        job.do("gate.set()")
        self.assertTrue(monitor.receive()["ok"])

    def test_a_fork_waits_for_an_import_of_the_probes(self):
        # fcntl, which the probe needs, takes its time; the child imports it, too.
        job = self.job("import sys, threading, time, importlib.machinery, torch; entered = threading.Event()",
                       "class Slow:\n"
                       "    @classmethod\n"
                       "    def find_spec(cls, name, path=None, target=None):\n"
                       "        return importlib.machinery.ModuleSpec(name, cls) if name == 'fcntl' else None\n"
                       "    @staticmethod\n"
                       "    def create_module(spec):\n"
                       "        return None\n"
                       "    @staticmethod\n"
                       "    def exec_module(module):\n"
                       "        entered.set()\n"
                       "        time.sleep(1)\n",
                       "sys.modules.pop('fcntl', None); sys.meta_path.insert(0, Slow)",
                       "other = threading.Thread(target=__import__, args=('vramscope_probe',)); other.start()",
                       "assert entered.wait(%d)" % PATIENCE, probe=False, path=[AGENT], flags=["-S"])
        self.assertIsNone(job.do(self.FORK % "import fcntl; os._exit(7)"))
        child = job.do("pid")
        try:
            status = until("the child to import it", lambda: job.do("os.waitpid(pid, os.WNOHANG)[1]"))
        except AssertionError:
            os.kill(child, signal.SIGKILL)
            raise
        self.assertEqual(status, 7 << 8)
        job.do("other.join(); t = torch.empty(1)")
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_a_fork_does_not_wait_for_ever(self):
        job = self.job("import vramscope_probe as v, threading; v._FORK_TIME = 0.1; held = threading.Event()",
                       "def hold():\n    v._imports.acquire()\n    held.set()\n    threading.Event().wait()",
                       "threading.Thread(target=hold, daemon=True).start()", "assert held.wait(%d)" % PATIENCE)
        for _ in range(2):
            self.assertIsNone(job.do(self.FORK % "free = v._imports.acquire(False); os._exit(7 if free else 8)"))
            self.assertEqual(job.do("os.waitpid(pid, 0)[1]"), 7 << 8)

    def test_a_childs_end_leaves_the_parents_socket(self):
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

    def test_workers(self):
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


class Chain(Case):
    """An existing sitecustomize is what it was."""

    def site(self, content):
        directory = os.path.join(self.directory, "site")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "sitecustomize.py"), "w") as file:
            file.write(content)
        return directory

    def test_it_runs(self):
        other = self.site("import sys\nsys.mark = __file__, __name__\n")
        job = self.job("import sys, sitecustomize", path=[other])
        self.assertEqual(job.do("sys.mark"), (os.path.join(other, "sitecustomize.py"), "sitecustomize"))
        self.assertEqual(job.do("sitecustomize.__file__"), os.path.join(other, "sitecustomize.py"))
        job.do("import torch; t = torch.empty(1)")
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_ours_twice(self):
        # From an image's environment, and from another vramscope's run.
        other = self.site("import sys\nsys.mark = getattr(sys, 'mark', 0) + 1\n")
        second = os.path.join(self.directory, "second")
        os.mkdir(second)
        for name in ("sitecustomize.py", "vramscope_probe.py"):
            shutil.copy(os.path.join(AGENT, name), second)
        job = self.job("import sys, torch; t = torch.empty(1)", path=[second, other])
        self.assertEqual(job.do("sys.mark, hasattr(sys, '_vramscope_passed')"), (1, False))
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.said(), "")

    def test_its_failure_is_what_it_would_be(self):
        for content in ("1/0", "import not_there", "raise SystemExit(3)"):
            with self.subTest(content):
                ends = []
                for probe in (False, True):
                    job = self.job(path=[self.site(content)], probe=probe)
                    status = job.end()
                    said = [line for line in job.said().splitlines() if line.strip()]
                    ends.append((status, said[-1:] if status else said))
                self.assertEqual(ends[0], ends[1])

    def test_there_is_none(self):
        job = self.job("import sitecustomize, sys")
        self.assertEqual(job.said(), "")
        self.assertTrue(job.do("'vramscope_probe' in sys.modules"))

    def test_a_venv(self):
        venv = os.path.join(self.directory, "venv")
        import subprocess

        made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if made.returncode:
            self.skipTest("this Python makes no venv: %s" % made.stdout)
        packages = os.path.join(venv, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
        with open(os.path.join(packages, "sitecustomize.py"), "w") as file:
            file.write("import sys; sys.mark = 'venv'\n")
        python, sys.executable = sys.executable, os.path.join(venv, "bin", "python")
        mark = "getattr(sys, 'mark', None), sys.prefix"
        try:
            # A distribution may have a sitecustomize of its own, which comes first.
            alone = subprocess.check_output([sys.executable, "-c", "import sys; print((%s))" % mark], universal_newlines=True)
            job = self.job("import sys, torch; t = torch.empty(1)")
        finally:
            sys.executable = python
        self.assertEqual(repr(job.do(mark)), alone.strip())
        self.assertIn(venv, alone)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])


if __name__ == "__main__":
    unittest.main()
