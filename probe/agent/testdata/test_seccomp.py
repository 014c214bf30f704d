"""Programs with seccomp filters that kill for system calls that the probe makes and the program does not."""

import os
import platform
import subprocess
import sys
import unittest

from harness import AGENT, HERE, TIMEOUT, Case, Monitor, until

# Part of a program: kill(tsync, numbers) installs a filter that ends the process
# for these system calls, and for memory that can be executed; if numbers begin
# with -1, for every call but these.
FILTER = """
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)

def kill(tsync, numbers):
    LD, JEQ, JSET, RET, KILL, ALLOW = 0x20, 0x15, 0x45, 0x06, 0x80000000, 0x7FFF0000
    code = [(LD, 0, 0, 0)]
    allowing = numbers[:1] == [-1]
    for number in numbers[allowing:]:
        code += [(JEQ, 0, 1, number), (RET, 0, 0, ALLOW if allowing else KILL)]
    if numbers and not allowing:  # and mmap with PROT_EXEC
        code += [(JEQ, 0, 3, MMAP), (LD, 0, 0, 16 + 8 * 2), (JSET, 0, 1, 4), (RET, 0, 0, KILL)]
    code += [(RET, 0, 0, KILL if allowing else ALLOW)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code), ctypes.addressof(program)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.syscall(SECCOMP, 1, 1 if tsync else 0, header) == 0, ctypes.get_errno()
"""

# x86-64: https://github.com/torvalds/linux/blob/master/arch/x86/entry/syscalls/syscall_64.tbl
X86 = {
    "poll": 7, "pipe": 22, "madvise": 28, "socket": 41, "connect": 42, "accept": 43, "sendto": 44, "recvfrom": 45,
    "sendmsg": 46, "recvmsg": 47, "bind": 49, "listen": 50, "getsockname": 51, "getpeername": 52, "socketpair": 53,
    "setsockopt": 54, "getsockopt": 55, "clone": 56, "exit": 60, "fcntl": 72, "ftruncate": 77, "mkdir": 83,
    "unlink": 87, "chmod": 90, "fchmod": 91, "statfs": 137, "prctl": 157, "epoll_wait": 232, "mkdirat": 258,
    "unlinkat": 263, "fchmodat": 268, "ppoll": 271, "pwrite64": 18, "pread64": 17, "accept4": 288, "pipe2": 293,
    "clone3": 435,
}
NUMBERS = sorted(X86.values())
# read, write, close, lseek, mmap, mprotect, munmap, brk, rt_sigaction,
# rt_sigprocmask, mremap, getpid, sigaltstack, futex, exit_group
ALONE = [-1, 0, 1, 3, 8, 9, 10, 11, 12, 13, 14, 25, 39, 131, 202, 231]

# Starts a program under a filter that allows every call, in place of a container's filter.
OUTER = FILTER + """
MMAP, SECCOMP = 9, 317
kill(True, [])
os.execv(sys.argv[1], sys.argv[1:])
"""

PROGRAM = """
import gc, pickle, time, threading
%(filter)s
MMAP, SECCOMP = 9, 317
if when == "import":
    kill(tsync, numbers)
import torch
if when == "gpu":
    kill(tsync, numbers)
t = torch.empty(30 << 20)
t = None
if when == "serving":
    wait("serve")
    kill(tsync, numbers)
if when == "busy":
    import vramscope_probe
    entered = threading.Lock(); entered.acquire(); leave = threading.Lock(); leave.acquire()
    def evict():
        entered.release()
        leave.acquire()
    vramscope_probe.register_evictable("cache", 1, evict)
    wait("serve")
    entered.acquire()
    print("entered", flush=True)
    wait("filter")
    kill(tsync, numbers)
print("filtered", flush=True)
if when == "busy":
    wait("leave")
    leave.release()
wait("end")
gc.collect()
print("ends", flush=True)
"""

# The fake torch imports collections, whose C part (an executable mapping) Python 3.8 loads late.
HEAD = """
import collections, os, sys
when, tsync, numbers = sys.argv[1], bool(int(sys.argv[2])), eval(sys.argv[3])

def wait(for_what):
    line = sys.stdin.readline()
    assert line == for_what + "\\n", line
"""


@unittest.skipIf(platform.machine() != "x86_64", "the numbers of system calls are x86-64's")
class Seccomp(Case):
    def program(self, when, tsync, probe=True, outer="", numbers=NUMBERS, **environ):
        self.runtime = os.path.join(self.directory, "run-%s-%d-%d" % (when, tsync, probe))
        os.makedirs(self.runtime)
        paths = ([AGENT] if probe else []) + [os.path.join(HERE, "fake")]
        inherited = {name: value for name, value in os.environ.items() if name != "VRAMSCOPE_SECCOMP_FILTERS"}
        environ = dict(inherited, XDG_RUNTIME_DIR=self.runtime, PYTHONPATH=os.pathsep.join(paths), **environ)
        process = subprocess.Popen(
            ([sys.executable, "-S", "-c", outer] if outer else []) + [sys.executable, "-c", HEAD + PROGRAM % {"filter": FILTER}, when, str(int(tsync)), repr(numbers)], env=environ,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def say(self, process, word):
        process.stdin.write(word + "\n")
        process.stdin.flush()

    def idle(self, process):
        """Waits until the probe's thread waits for a monitor. The thread does not notice a filter that is installed
        between its check and its next system call (docs/python.md)."""
        def polls(tid):
            with open("/proc/%d/task/%s/syscall" % (process.pid, tid)) as file:
                return file.read().split()[0] == str(X86["poll"])
        until("the probe to be idle", lambda: any(polls(tid) for tid in self.threads(process) if tid != str(process.pid)))

    def ends(self, process):
        self.say(process, "end")
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, out, errors), (0, "ends\n", ""))

    def socket(self):
        directory = os.path.join(self.runtime, "vramscope")
        names = os.listdir(directory) if os.path.isdir(directory) else []
        return [os.path.join(directory, name) for name in names]

    def threads(self, process):
        return os.listdir("/proc/%d/task" % process.pid)

    def both(self):
        """Yields tsync: the filter is in all threads, then only in the one that installs it."""
        for tsync in (True, False):
            with self.subTest(tsync=tsync):
                yield tsync

    def test_the_program_ends_well_without_a_probe(self):
        for when in ("import", "gpu"):
            for tsync in self.both():
                process = self.program(when, tsync, probe=False)
                self.assertEqual(process.stdout.readline(), "filtered\n")
                self.ends(process)

    def test_before_torch(self):
        for tsync in self.both():
            process = self.program("import", tsync, VRAMSCOPE_SECCOMP_FILTERS=self.own())
            self.assertEqual(process.stdout.readline(), "filtered\n")
            self.assertEqual(len(self.threads(process)), 1)
            self.ends(process)
            self.assertEqual(self.socket(), [])

    def own(self, more=0):
        with open("/proc/self/status") as file:
            return str(sum(int(line.split()[1]) for line in file if line.startswith("Seccomp_filters:")) + more)

    def test_a_filter_that_run_has_too(self):
        for given in (self.own(1), self.own()):
            process = self.program("never", True, outer=OUTER, VRAMSCOPE_SECCOMP_FILTERS=given)
            self.assertEqual(process.stdout.readline(), "filtered\n")
            if given == self.own():
                self.assertEqual(len(self.threads(process)), 1)
            else:
                monitor = Monitor(until("the probe", self.socket)[0])
                self.addCleanup(monitor.close)
                self.assertTrue(monitor.ask("hello")["ok"])
            self.ends(process)
            os.rename(self.runtime, self.runtime + given)

    def test_how_many_are_permitted(self):
        job = self.job("import os, vramscope_probe as v", "def read(path): return statuses[path]\nv._read = read",
                       "def status(n): return b'Name:\\tx\\nSeccomp:\\t%d\\nSeccomp_filters:\\t%d\\nCpus:\\t1\\n' % (2 if n else 0, n)",
                       "def permitted(own, first, given):\n    global statuses\n"
                       "    statuses = {'/proc/thread-self/status': status(own), '/proc/1/status': status(first)}\n"
                       "    os.environ.pop('VRAMSCOPE_SECCOMP_FILTERS', None)\n"
                       "    if given is not None: os.environ['VRAMSCOPE_SECCOMP_FILTERS'] = given\n"
                       "    return v._permitted_filters({})")
        for (own, first, given), expected in (
            ((2, 0, "1"), 1), ((2, 0, "2"), 2), ((1, 0, "5"), 1), ((2, 1, None), 1), ((2, 2, "nonsense"), 2), ((2, 1, ""), 1), ((0, 0, None), 0),
        ):
            self.assertEqual(job.do("permitted(%d, %d, %r)" % (own, first, given)), expected)
        for status, expected in ((b"Seccomp:\t2\n", 1), (b"Seccomp:\t0\n", 0), (b"Pid:\t2\n", 0), (b"Seccomp:\t2\nSeccomp_filters:\t3\n", 3)):
            self.assertEqual(job.do("v._count_filters(%r)" % (b"Name:\tx\n" + status)), expected)

    def test_while_the_thread_begins(self):
        job = self.job("import time, vramscope_probe as v", "v._name_thread = lambda: time.sleep(.3)")
        self.assertIsNone(job.do("v._start()"))
        self.assertTrue(job.do("v._agent.status is not None"), "the program goes on before the thread looks for filters")

    def test_between_torch_and_the_gpu(self):
        process = self.program("gpu", True)
        self.assertEqual(process.stdout.readline(), "filtered\n")
        until("the probe's thread to wait for ever", lambda: self.waits(process))
        self.ends(process)
        self.assertEqual(self.socket(), [])

    def test_every_call_but_a_few(self):
        for when in ("gpu", "serving"):
            for probe in (False, True) if when == "gpu" else (True,):
                with self.subTest(when, probe=probe):
                    process = self.program(when, True, probe=probe, numbers=ALONE)
                    if when == "serving":
                        monitor = Monitor(until("the probe", self.socket)[0])
                        self.addCleanup(monitor.close)
                        self.assertTrue(monitor.ask("hello")["ok"])
                        self.idle(process)
                        self.say(process, "serve")
                    self.assertEqual(process.stdout.readline(), "filtered\n")
                    if when == "serving":
                        self.assertFalse(self.answers(monitor))
                    elif probe:
                        until("the probe's thread to wait for ever", lambda: self.waits(process))
                    self.ends(process)

    def waits(self, process):
        """Whether no thread but the first has run since the last call: the others wait for a lock, or have ended."""
        others = [tid for tid in self.threads(process) if tid != str(process.pid)]
        states = []
        for tid in others:
            with open("/proc/%d/task/%s/wchan" % (process.pid, tid)) as file:
                states.append(file.read())
            with open("/proc/%d/task/%s/status" % (process.pid, tid)) as file:
                switches = [line for line in file if line.startswith("voluntary")]
            states.append(switches)
        seen, self.seen = getattr(self, "seen", None), states
        return seen == states

    def test_only_the_first_thread(self):
        # The probe's thread has no filter: it serves, and removes its socket.
        process = self.program("gpu", False)
        self.assertEqual(process.stdout.readline(), "filtered\n")
        monitor = Monitor(until("the probe", self.socket)[0])
        self.addCleanup(monitor.close)
        self.assertTrue(monitor.ask("stats")["devices"] is not None)
        self.ends(process)

    def test_while_it_serves(self):
        for tsync in self.both():
            for asked in (False, True):
                with self.subTest(asked=asked):
                    process = self.program("serving", tsync)
                    monitor = Monitor(until("the probe", self.socket)[0])
                    self.addCleanup(monitor.close)
                    self.assertTrue(monitor.ask("hello")["ok"])
                    self.idle(process)
                    self.say(process, "serve")
                    self.assertEqual(process.stdout.readline(), "filtered\n")
                    if asked:
                        self.assertEqual(self.answers(monitor), not tsync)
                    self.ends(process)
                    for path in self.socket():
                        os.unlink(path)
                    os.rename(self.runtime, self.runtime + str(asked))

    def answers(self, monitor):
        try:
            return monitor.ask("stats") is not None
        except ConnectionError:
            return False  # closed before it was read

    def test_during_a_flush(self):
        for tsync in self.both():
            for noticed in (False, True):  # by the probe's other thread, before the flush ends
                with self.subTest(noticed=noticed):
                    process = self.program("busy", tsync)
                    path = until("the probe", self.socket)[0]
                    monitor, other = Monitor(path), Monitor(path)
                    self.addCleanup(monitor.close)
                    self.addCleanup(other.close)
                    self.assertTrue(monitor.ask("hello")["ok"])
                    self.say(process, "serve")
                    monitor.send(cmd="flush", level="selective")
                    self.assertEqual(process.stdout.readline(), "entered\n")
                    self.idle(process)
                    self.say(process, "filter")
                    self.assertEqual(process.stdout.readline(), "filtered\n")
                    if noticed:
                        self.assertEqual(self.answers(other), not tsync)
                    self.say(process, "leave")
                    if not tsync:
                        self.assertTrue(monitor.receive()["ok"])
                    elif noticed:
                        until("the flush to end", lambda: self.waits(process))
                    self.ends(process)
                    os.rename(self.runtime, self.runtime + str(noticed))

    def test_the_next_check(self):
        # The idle probe finds the filter by itself.
        process = self.program("serving", True)
        monitor = Monitor(until("the probe", self.socket)[0])
        self.addCleanup(monitor.close)
        self.assertTrue(monitor.ask("hello")["ok"])
        self.idle(process)
        self.say(process, "serve")
        self.assertEqual(process.stdout.readline(), "filtered\n")
        self.assertIsNone(monitor.receive(), "it closes its connections")
        self.ends(process)


if __name__ == "__main__":
    unittest.main()
