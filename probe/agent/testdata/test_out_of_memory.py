"""Out-of-memory errors: what the stats say of them, and that the program's error is its own."""

import unittest

from harness import DRIVER, FRESH, MIB, TIMEOUT, Case

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
        job = self.job(FRESH, "import torch; live = torch.empty(%d, 0)" % (64 * MIB), FAIL)
        monitor = self.monitor(job)
        self.assertEqual(self.errors(monitor), [])
        before = job.do("__import__('time').time_ns()")
        self.assertEqual(job.do("fail(1 << 40)"), "CUDA out of memory. Tried to allocate %d" % (1 << 40))
        (error,) = self.errors(monitor)
        self.assertEqual((error["bytes"], error["allocator"]), (1 << 40, "pytorch"))
        self.assertEqual((error["limit_bytes"], error["free_bytes"]), job.do("(lambda d: (d.total, d.left()))(torch.cuda._devices[0])"))
        self.assertLess(abs(error["time_ns"] - before), TIMEOUT * 10**9)

    def test_only_the_newest_are_kept(self):
        job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL)
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("[fail((1 << 40) + n * %d) for n in range(20)]" % MIB)
        self.assertEqual([e["bytes"] - (1 << 40) for e in self.errors(monitor)], [n * MIB for n in range(12, 20)])

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

    def test_a_program_without_a_new_error_exits_silently(self):
        job = self.job(FRESH, "import torch; live = torch.empty(9, 0)", FAIL)
        monitor = self.monitor(job)
        monitor.ask("stats")
        job.do("fail(1 << 40)")
        self.assertEqual(len(self.errors(monitor)), 1)
        job.process.stdin.close()
        self.assertIsNone(monitor.receive())

    def test_a_failure_of_the_observer_does_not_reach_the_program(self):
        for broken in ("v._time_ns = None", "v._MAX_ERRORS = 'a'", "v._agent.memory._torch.locks.free = None"):
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
