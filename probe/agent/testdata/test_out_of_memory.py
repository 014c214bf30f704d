"""Out-of-memory errors: what the stats report about them, and that the program gets its own error."""

import json
import os
import unittest

from harness import DRIVER, FRESH, HERE, MIB, TIMEOUT, Case

FAIL = """
def fail(size, device=0):
    try:
        torch.empty(size, device)
    except torch.cuda.OutOfMemoryError as error:
        return str(error)
"""


class OutOfMemory(Case):
    def errors(self, monitor):
        return [e for d in monitor.ask("stats")["devices"] for e in d.get("out_of_memory", [])]

    def test_an_error_is_in_the_next_stats(self):
        job = self.job(FRESH, "import torch; live = torch.empty(%d, 0)" % (64 * MIB), FAIL, VRAMSCOPE_RECORD_MEMORY=self.directory)
        monitor = self.monitor(job)
        self.assertEqual(self.errors(monitor), [])
        before = job.do("__import__('time').time_ns()")
        self.assertEqual(job.do("fail(1 << 40)"), "CUDA out of memory. Tried to allocate %d" % (1 << 40))
        (error,) = self.errors(monitor)
        self.assertEqual((error["bytes"], error["allocator"], error["trace"]), (1 << 40, "pytorch", self.directory))
        self.assertEqual((error["limit_bytes"], error["free_bytes"]), job.do("(lambda d: (d.total, d.left()))(torch.cuda._devices[0])"))
        self.assertLess(abs(error["time_ns"] - before), TIMEOUT * 10**9)

    def test_only_the_newest_are_kept(self):
        job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL)
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("[fail((1 << 40) + n * %d) for n in range(20)]" % MIB)
        self.assertEqual([(e["bytes"] - (1 << 40), e.get("trace")) for e in self.errors(monitor)], [(n * MIB, None) for n in range(12, 20)])

    def test_an_error_names_the_line_and_what_holds_the_memory(self):
        job = self.job(FRESH, "import torch, torch.optim as o", FAIL, "m = torch.nn.Module(); m.register_parameter('w', torch.empty(30 << 20))",
                       "class Log:\n def __init__(self): self.losses = [torch.empty(20 << 20)]\nlog, shared, a = Log(), {'a': torch.empty(10 << 20)}, o.Optimizer(m._parameters.values())",
                       "def step(batch, also):\n [fail(1 << 40) for _ in range(1)]; return batch", "class Hidden:\n __slots__ = 'x'\nh = Hidden(); h.x = torch.empty(3 << 20)",
                       "a.state[m._parameters['w']] = {'exp_avg': torch.empty(40 << 20)}")
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("v._HOLD = 1")  # a search for names gets one hold, even where others take the processor
        job.do("a.step()")
        job.do("m._parameters['w'].grad = torch.empty(50 << 20)")
        job.do("done = bool(step(torch.empty(5 << 20), shared))")
        (error,) = self.errors(monitor)
        self.assertRegex(error["stack"][0], r"^job:4 in fail$")
        self.assertRegex(error["stack"][1], r"^job:2 in step$")
        held = [(part["class"], part["name"], part["bytes"] // MIB) for part in error["held"]]
        self.assertEqual(held, [("optimizer_state", "", 40), ("parameters", "", 30), ("variables", "log.losses", 20), ("variables", "shared", 10), ("variables", "batch in step", 5)])
        # The probe looks for holders at most once a second, and not for long.
        job.do("fail(1 << 40)")
        self.assertNotIn("held", self.errors(monitor)[1])
        job.do("v._ERROR_LOOK = 1e-9; v._ERROR_EVERY = 0")
        job.do("kept = [Hidden() for _ in range(1000)]")
        job.do("fail(1 << 40)")
        self.assertEqual([part["class"] for part in self.errors(monitor)[2]["held"]], ["optimizer_state", "parameters"])

    def test_what_the_last_traceback_keeps_is_named(self):
        job = self.job(FRESH, "import torch, torch.nn, sys", FAIL, "def run():\n batch = torch.empty(9 << 20); 1 / 0", "try: run()\nexcept ZeroDivisionError: sys.last_traceback = sys.exc_info()[2]")
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("fail(1 << 40)")
        self.assertEqual(self.errors(monitor)[0]["held"], [{"class": "variables", "name": "batch in run, kept by sys.last_traceback", "bytes": 9 * MIB}])

    def records(self, job):
        """The records of errors beside the sockets, by name."""
        directory = os.path.join(job.runtime, "vramscope")
        found = {}
        for name in os.listdir(directory) if os.path.isdir(directory) else ():
            if name.endswith(".last"):
                path = os.path.join(directory, name)
                self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
                with open(path) as file:
                    found[name] = json.loads(file.readline())
        return found

    def test_the_exit_looks_for_filters_before_it_reads_the_stats(self):
        """If no descriptor was free, the thread has no _Status to look with, and does not read the stats."""
        job = self.job("import vramscope_probe as v; done = []", """
class Memory:
    def has_failed(self): return True
    def last_report(self): done.append("read")
class Status:
    def check(self): done.append("looked")
agent = v._Agent(None)
agent.memory = Memory()
""")
        self.assertEqual(job.do("(agent._say_last(), done)[1]"), [])
        job.do("setattr(agent, 'status', Status())")
        self.assertEqual(job.do("(agent._say_last(), done)[1]"), ["looked", "read"])

    def test_a_program_whose_first_allocation_fails_leaves_a_record(self):
        job = self.job("import torch", FAIL)
        job.do("fail(1 << 40)")
        pid = job.process.pid
        with open("/proc/%d/stat" % pid) as stat:
            start = int(stat.read().rpartition(")")[2].split()[19])
        job.process.stdin.close()
        self.assertEqual(job.process.wait(TIMEOUT), 0)
        ((name, record),) = self.records(job).items()
        self.assertEqual(name, "%d-%d.last" % (pid, start))
        self.assertEqual((record["pid"], record["starttime"], record["last"]), (pid, start, True))
        self.assertEqual(record["command"][1:], [os.path.join(HERE, "job.py")])
        (device,) = record["devices"]
        (error,) = device["out_of_memory"]
        self.assertEqual((error["bytes"], error["allocator"]), (1 << 40, "pytorch"))

    def test_old_records_are_removed_and_few_are_kept(self):
        directory = os.path.join(self.directory, "run", "vramscope")
        os.makedirs(directory, 0o700)
        for pid in range(1, 67):
            path = os.path.join(directory, "%d-7.last" % pid)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write("{}")
            if pid > 64:
                os.utime(path, (1, 1))
        job = self.job("import torch", FAIL)
        job.do("fail(1 << 40)")
        job.process.stdin.close()
        self.assertEqual(job.process.wait(TIMEOUT), 0)
        self.assertEqual(sorted(self.records(job)), sorted("%d-7.last" % pid for pid in range(1, 65)))

    def test_an_error_that_ends_the_program_is_sent_before_it_exits(self):
        job = self.job("import torch; live = torch.empty(9, 0)", FAIL)
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("fail(1 << 40)")
        job.process.stdin.close()
        last = monitor.receive()
        self.assertEqual((last["id"], last["ok"], last["last"]), (None, True, True))
        self.assertEqual(last["devices"][0]["out_of_memory"][0]["bytes"], 1 << 40)
        self.assertIsNone(monitor.receive())
        self.assertEqual(job.process.wait(TIMEOUT), 0)

    def test_a_program_without_a_recent_error_exits_silently(self):
        job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL, "v._RECENT_TIME = 0")
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("fail(1 << 40)")
        self.assertEqual(len(self.errors(monitor)), 1)
        job.process.stdin.close()
        self.assertIsNone(monitor.receive())
        self.assertEqual(job.process.wait(TIMEOUT), 0)
        self.assertEqual(self.records(job), {})

    def test_a_failure_of_the_observer_does_not_reach_the_program(self):
        for broken in ("v._time_ns = None", "v._MAX_ERRORS = 'a'", "v._agent.memory._torch.locks.free = None",
                       "v._stack = v._holders.at_error = None", "v._storages = None"):
            job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL)
            monitor = self.monitor(job)
            monitor.ask("stats")
            job.do(broken)
            self.assertEqual(job.do("fail(1 << 40)"), "CUDA out of memory. Tried to allocate %d" % (1 << 40), broken)

    def test_a_signal_of_the_program_is_not_lost_in_the_observer(self):
        job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL)
        self.monitor(job).ask("stats")
        job.do("def interrupted(): raise KeyboardInterrupt")
        job.do("v._time_ns = interrupted")
        self.assertEqual(job.do("try:\n fail(1 << 40); r = 0\nexcept KeyboardInterrupt:\n r = 1\nr") or job.do("r"), 1)

    def test_releases_and_allocators_without_observers_have_none(self):
        for environ in [{"FAKE_TORCH_VERSION": "1.13.1"}] + [{"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}] * DRIVER:
            job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL, **environ)
            monitor = self.monitor(job)
            self.assertTrue(monitor.ask("stats")["ok"])
            self.assertRegex(job.do("fail(1 << 40)"), "CUDA out of memory|Allocation on device")
            self.assertEqual(self.errors(monitor), [])
            self.assertEqual(job.errors(), "")


if __name__ == "__main__":
    unittest.main()
