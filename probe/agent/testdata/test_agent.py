"""How the probe starts, listens, and ends with the program."""

import os
import signal
import socket
import stat
import sys
import unittest

from harness import AGENT, TIMEOUT, Case, Monitor, until

PROBE = os.path.join(AGENT, "vramscope_probe.py")


class Start(Case):
    def test_a_program_without_a_gpu_library_is_left_alone(self):
        job = self.job("import json, socket, threading, email.mime.text", "import importlib.util",
                       "found = importlib.util.find_spec('torch') is not None", "assert found")
        self.assertEqual(len(sum(job.threads().values(), [])), 1)
        job.do("import sys")
        self.assertFalse(job.do("'vramscope_probe' in sys.modules"), "loading it takes longer than Python's start")
        self.assertIsNone(job.do("import torch"))
        self.assertTrue(job.do("'vramscope_probe' in sys.modules"))

    def test_every_library_loads_the_probe(self):
        job = self.job("import sys; finder = sys.meta_path[0]")
        for package in job.do("sorted(__import__('vramscope_probe')._PACKAGES)"):
            with self.subTest(package):
                job = self.job("import sys; finder = sys.meta_path[0]")
                job.do("finder.find_spec(%r)" % package)
                self.assertFalse(job.do("'vramscope_probe' in sys.modules"))
                job.do("finder.find_spec('%s.core', [])" % package)
                self.assertTrue(job.do("'vramscope_probe' in sys.modules"))

    def test_functions_that_were_replaced_before_the_library(self):
        job = self.job("import _thread, time; start = _thread.start_new_thread",
                       "def mine(*arguments): return start(*arguments)",
                       "_thread.start_new_thread = mine; time.clock_gettime = lambda clock: 0.0",
                       "import torch; t = torch.empty(1)")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")

    def test_the_program_imports_it(self):
        job = self.job("import vramscope_probe as v; v.register_evictable('cache', 1, print) and None", "import torch; t = torch.empty(1)")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")

    def test_torch_is_not_initialised(self):
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
                       path=[AGENT])
        self.assertTrue(self.monitor(job).ask("stats")["devices"])

    def test_started_by(self):
        job = self.job("import torch; t = torch.empty(1)")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "run")
        job = self.job("import torch, vramscope_probe; t = torch.empty(1)", probe=False,
                       path=[AGENT], flags=["-S"])
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "import")
        job = self.job("import vramscope_probe as v; v._start(at_once=True, started_by='attach')")
        self.assertEqual(self.monitor(job).ask("hello")["started_by"], "attach")

    def test_its_thread_is_invisible_and_blocks_signals(self):
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

    def test_interpreter_flags(self):
        for flags in (["-X", "dev", "-W", "error"], ["-O"], ["-B", "-s"], ["-u", "-v"], ["-X", "importtime"]):
            with self.subTest(flags=flags):
                job = self.job("import torch; t = torch.empty(1 << 20)", flags=flags)
                self.assertTrue(self.monitor(job).ask("stats")["devices"])
                self.assertEqual(job.end(), 0)
                if "dev" in flags:
                    self.assertEqual(job.errors(), "")


class Socket(Case):
    # Has the exit wait for the probe, however slow the machine.
    UNHURRIED = "import vramscope_probe; vramscope_probe._STOP_TIME = %d" % TIMEOUT

    def test_socket_modes_and_name(self):
        job = self.job("import torch; t = torch.empty(1)")
        path = job.socket()
        hello = self.monitor(job).ask("hello", proto="vramscope/1")
        self.assertEqual(os.path.basename(path), "%d-%d.sock" % (hello["pid"], hello["starttime"]))
        self.assertEqual(stat.S_IMODE(os.lstat(path).st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(os.lstat(os.path.dirname(path)).st_mode), 0o700)

    def test_an_untrusted_directory_is_not_used(self):
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
                fallback = "/tmp/vramscope-%d" % os.geteuid()
                mine = "%d-" % job.process.pid
                until("the fallback directory", lambda: os.path.isdir(fallback) and any(
                    n.startswith(mine) for n in os.listdir(fallback)))
                self.assertEqual(job.end(), 0)
                self.assertFalse(any(n.startswith(mine) for n in os.listdir(fallback)))

    def test_no_usable_directory(self):
        job = self.job("import vramscope_probe as v", "v._Listener._directories = lambda self: ['/proc/none/x']",
                       "import torch; t = torch.empty(1)", "import time; time.sleep(1)")
        self.assertEqual(job.end(), 0)

    def test_a_removed_directory(self):
        job = self.job("import vramscope_probe; vramscope_probe._CHECK_TIME = 0.1", "import torch; t = torch.empty(1)")
        path = job.socket()
        before = self.monitor(job)
        self.assertTrue(before.ask("hello")["ok"])
        os.rename(os.path.dirname(path), os.path.join(self.directory, "gone"))
        self.assertTrue(self.monitor(job).ask("hello")["ok"])
        self.assertTrue(before.ask("hello")["ok"], "open connections stay")

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
        until("the stale one to be removed", lambda: names[0] not in os.listdir(directory))
        self.assertEqual(sorted(n for n in os.listdir(directory) if n in names), names[1:])

    def test_a_second_probe_does_not_serve(self):
        job = self.job("import torch; t = torch.empty(1)")
        inode = os.stat(job.socket()).st_ino
        job.do("import vramscope_probe as v; second = v._Agent(v._evictable); second.start(); import time; time.sleep(1)")
        self.assertEqual(os.stat(job.socket()).st_ino, inode)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_two_probes_at_once(self):
        # Two modules of the probe would meet like this. Only the one that takes the socket's name first serves.
        for _ in range(5):
            job = self.job("import torch, threading, vramscope_probe as v; agents = [v._Agent(v._evictable) for _ in range(4)]",
                           "for agent in agents: threading.Thread(target=agent.start, args=(True,)).start()")
            listening = "sum(a._server is not None and a._server.listener.sock is not None for a in agents)"
            self.assertTrue(self.monitor(job).ask("hello")["ok"])
            until("all to have tried", lambda: job.do("all(a._server is not None for a in agents)"))
            self.assertEqual(job.do("import time; time.sleep(0.2); " + listening), 1)
            self.assertEqual(len(job.sockets()), 1)
            self.assertEqual(job.end(), 0)

    def test_attach_at_once(self):
        job = self.job("import sys, threading, types; reasons = []", "code = compile(open(%r).read(), 'probe', 'exec')" % PROBE,
                       "def attach():\n    probe = types.ModuleType('vramscope_probe')\n    probe._started_by = 'attach'\n"
                       "    exec(code, probe.__dict__)\n    there = sys.modules.setdefault('vramscope_probe', probe)\n"
                       "    reasons.append(there._start(at_once=True, started_by='attach'))",
                       "threads = [threading.Thread(target=attach) for _ in range(6)]",
                       "for thread in threads: thread.start()", "for thread in threads: thread.join()", probe=False)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])
        self.assertEqual(job.do("reasons, [f.__module__ for f in sys.meta_path if getattr(f, '__name__', '') == '_ImportHook']"),
                         ([None] * 6, ["vramscope_probe"]))
        self.assertEqual(len(job.threads()["vramscope"]), 1)

    @unittest.skipIf(os.geteuid() != 0, "only root can be another user")
    def test_another_user_is_refused(self):
        job = self.job("import vramscope_probe; vramscope_probe._CHECK_TIME = 3600", "import torch; t = torch.empty(1)")
        path = job.socket()
        self.assertTrue(self.monitor(job).ask("hello")["ok"])
        # Normally only the directory keeps others out; it is opened here to test the check behind
        # it.
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

    def test_too_many_monitors(self):
        job = self.job("import vramscope_probe; vramscope_probe._IDLE_TIME = vramscope_probe._LINE_TIME = 3600",
                       "import torch; t = torch.empty(1)")
        monitors = [self.monitor(job) for _ in range(16)]
        for monitor in monitors:
            self.assertTrue(monitor.ask("hello")["ok"])
        monitors[0].sock.sendall(b'{"id":1,"cmd":')  # an incomplete line
        late = self.monitor(job)
        self.assertEqual(late.receive()["error"]["code"], "busy")
        self.assertTrue(monitors[15].ask("stats")["ok"])
        monitors[3].close()
        until("capacity", lambda: self.served(job))

    def served(self, job):
        """Whether one more monitor is served; above the limit the connection is closed."""
        try:
            answer = self.monitor(job).ask("hello")
        except ConnectionError:
            return False
        return answer and answer.get("ok")

    def test_slow_readers_and_writers_are_dropped(self):
        job = self.job("import vramscope_probe as v; v._WRITE_TIME = v._LINE_TIME = 0.2",
                       "import torch; t = torch.empty(1)")
        slow = self.monitor(job)
        slow.sock.sendall(b'{"id":1,')
        self.assertIsNone(slow.receive(), "an unfinished line")
        deaf = self.monitor(job)
        deaf.sock.settimeout(TIMEOUT)
        with self.assertRaises(ConnectionError):
            while True:
                deaf.send(cmd="hello")
        self.assertTrue(self.monitor(job).ask("hello")["ok"])

    def test_requests_after_a_flush_wait_for_it(self):
        job = self.job("import torch; t = torch.empty(30 << 20); del t")
        monitor = self.monitor(job)
        monitor.sock.sendall(b'{"id":1,"cmd":"flush","level":"urgent"}\n{"id":2,"cmd":"hello"}\n{"id":3,"cmd":"bye"}\n')
        self.assertEqual([monitor.receive()["id"] for _ in range(3)], [1, 2, 3])
        self.assertIsNone(monitor.receive())


class End(Case):
    def test_exit_removes_the_socket(self):
        job = self.job(Socket.UNHURRIED, "import torch; t = torch.empty(1)")
        path = job.socket()
        self.assertEqual(job.end(), 0)
        self.assertFalse(os.path.exists(path))
        self.assertEqual(job.errors(), "")

    def test_exit_status_and_signals_are_the_programs(self):
        job = self.job("import torch, atexit, os; t = torch.empty(1)")
        job.socket()
        job.process.stdin.write(repr("raise SystemExit(7)") + "\n")
        job.process.stdin.flush()
        self.assertEqual(job.process.wait(TIMEOUT), 7)
        for number in (signal.SIGTERM, signal.SIGKILL):
            job = self.job("import torch; t = torch.empty(1)")
            job.socket()
            job.process.send_signal(number)
            self.assertEqual(job.process.wait(TIMEOUT), -number)

    def test_a_hanging_flush_does_not_delay_exit(self):
        job = self.job("import torch, time, vramscope_probe; t = torch.empty(1); began = []",
                       "vramscope_probe.register_evictable('hangs', 1, lambda: (began.append(1), time.sleep(3600))) and None")
        monitor = self.monitor(job)
        monitor.send(cmd="flush", level="selective")
        other = self.monitor(job)
        until("the flush", lambda: job.do("len(began)"))  # otherwise the other monitor's flush could be first
        self.assertEqual(other.ask("flush", level="gradual")["error"]["code"], "busy")
        self.assertTrue(other.ask("stats")["ok"])
        self.assertEqual(job.end(), 0)

    def test_the_main_thread_has_ended(self):
        job = self.job("import torch, threading; t = torch.empty(1)",
                       "def work():\n    threading.main_thread().join(); print('alone', flush=True); threading.Event().wait(3600)",
                       "threading.Thread(target=work).start()")
        monitor = self.monitor(job)
        job.process.stdin.close()
        self.assertEqual(job.process.stdout.readline(), "alone\n")
        answer = monitor.ask("flush", level="gradual", dry_run=True)
        if (3, 12) <= sys.version_info < (3, 12, 3):
            self.assertEqual(answer["error"], {"code": "internal", "message":
                "a flush needs a thread: the program's main thread has ended, and Python 3.12.0 to 3.12.2 then start no other thread; "
                "have the main thread join the others, use a newer Python"})
        else:
            self.assertTrue(answer["ok"], answer)
        self.assertTrue(monitor.ask("stats")["ok"])

    def test_exec_reuses_the_name(self):
        job = self.job("import torch; t = torch.empty(1)")
        old = os.stat(job.socket()).st_ctime_ns
        job.process.stdin.write(repr("import os, sys; os.execv(sys.executable, [sys.executable] + sys.argv)") + "\n")
        self.assertIsNone(job.do("import vramscope_probe as v; v._CHECK_TIME = 0.1; v._BIND_TIME = 0.5; import torch; t = torch.empty(1)"))
        until("the new socket", lambda: os.stat(job.socket()).st_ctime_ns != old)
        self.assertTrue(self.monitor(job).ask("hello")["ok"])


if __name__ == "__main__":
    unittest.main()
