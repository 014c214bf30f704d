"""The lines that allocate: a history that is recorded for as long as it is asked for."""

import json
import os
import pickle
import shutil
import tempfile
import threading
import time
import unittest

from harness import MIB, Case, until

CALLS = "[(c['enabled'], c['context']) for c in torch.cuda.calls]"
ALL = [("all", "alloc"), ("all", None), (None, "alloc")]


class History(Case):
    def begin(self, *setup, **options):
        job = self.job("import torch, torch.optim as o, vramscope_probe as v; v._STATS_TIME = -1e9; old = torch.empty(3 << 20); kept = []",
                       "optimizer = o.Optimizer()", "def step():\n kept.append(torch.empty(1 << 20)); optimizer.step()", *setup, **options)
        return job, self.monitor(job)

    def send(self, monitor, **record):
        file = tempfile.TemporaryFile(dir=self.directory)
        self.addCleanup(file.close)
        monitor.send_file(file, cmd="snapshot", format="pytorch", record=record)
        return file

    def blocks(self, file):
        """{line: bytes} of the live blocks; None without a line."""
        found = {}
        for segment in pickle.loads(os.pread(file.fileno(), 1 << 30, 0))["segments"]:
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    name = block["frames"][0]["name"] if block["frames"] else None
                    found[name] = found.get(name, 0) + block["size"]
        return found

    def test_steps(self):
        job, monitor = self.begin(FAKE_TORCH_VERSION="2.15.0")
        file = self.send(monitor, seconds=60, steps=3)
        until("the recording to begin", lambda: job.do("torch.cuda.history"))
        job.do("[step() for _ in range(3)]; step()")
        answer = monitor.receive()
        self.assertTrue(answer["ok"], answer)
        self.assertIn(answer["recorded"]["steps"], (3, 4))
        self.assertLess(answer["recorded"]["seconds"], 50)
        blocks = self.blocks(file)
        self.assertEqual(blocks["step"], 3 * MIB)
        self.assertIn(blocks[None], (3 * MIB, 4 * MIB), "the fourth step's may be there by then, without a line")
        self.assertEqual(list(dict.fromkeys(job.do(CALLS))), ALL)
        last = job.do("torch.cuda.calls[0]")
        self.assertEqual((last["stacks"], last["max_entries"], last["skip_actions"]), ("python", 32 << 10, ["free_requested"]))
        self.assertEqual(job.do("[f.__name__ for f in [torch._C._cuda_record_memory_history]]"), ["_set_history"])

    def test_seconds_and_too_few_steps(self):
        job, monitor = self.begin(FAKE_TORCH_VERSION="2.4.1")
        file = self.send(monitor, seconds=1, steps=7)
        until("the recording to begin", lambda: job.do("torch.cuda.history"))
        job.do("step()")
        answer = monitor.receive()
        self.assertEqual(answer["recorded"]["steps"], 1)
        self.assertEqual(answer["notes"], ["1 of 7 steps ended in 1 s"])
        self.assertEqual(self.blocks(file), {"step": MIB, None: 3 * MIB})
        self.assertEqual(job.do(CALLS), ALL)
        self.assertNotIn("skip_actions", job.do("torch.cuda.calls[0]"))

    def test_steps_that_the_program_counts(self):
        job, monitor = self.begin("v.step()")
        self.send(monitor, seconds=60, steps=2)
        until("the recording to begin", lambda: job.do("torch.cuda.history"))
        job.do("v.step(2)")
        self.assertEqual(monitor.receive()["recorded"]["steps"], 2)

    def test_it_ends_with_the_monitor(self):
        job, monitor = self.begin()
        self.send(monitor, seconds=600)
        until("the recording to begin", lambda: job.do("torch.cuda.history"))
        monitor.close()
        until("the recording to end", lambda: not job.do("torch.cuda.history"))
        self.assertEqual(job.do(CALLS), [ALL[0], ALL[2]])
        until("the request to end", lambda: not job.do("list(v._agent.commands.running)"))
        self.assertEqual(job.do("torch._C._cuda_record_memory_history.__name__"), "_set_history")

    def test_it_ends_where_the_snapshot_fails(self):
        job, monitor = self.begin("def fail(write):\n raise ValueError('no')\nv._pickled = fail")
        self.send(monitor, seconds=0)
        self.assertEqual(monitor.receive()["error"]["code"], "internal")
        self.assertEqual(job.do(CALLS)[-1], ALL[2])

    def test_a_history_of_the_programs_own_stays(self):
        note = ["it includes the recorded memory history", "the program records a history itself: it was left as it is"]
        job, monitor = self.begin("torch.cuda.memory._record_memory_history(max_entries=7)")
        self.send(monitor, seconds=0)
        self.assertEqual(monitor.receive()["notes"], note)
        self.assertEqual(job.do("len(torch.cuda.calls)"), 1)
        for change, last in (("'all'", "all"), ("None", None)):
            with self.subTest(change):  # the program begins or ends a history meanwhile
                job, monitor = self.begin()
                self.send(monitor, seconds=60, steps=1)
                until("the recording to begin", lambda: job.do("torch.cuda.history"))
                job.do("torch.cuda.memory._record_memory_history(%s, max_entries=7)" % change)
                job.do("step()")
                self.assertTrue(monitor.receive()["ok"])
                self.assertEqual([(c["enabled"], c["max_entries"]) for c in job.do("torch.cuda.calls")], [("all", 32 << 10), (last, 7)])

    def test_what_is_refused(self):
        job, monitor = self.begin()
        for record in (5, {}, {"seconds": -1}, {"seconds": 1e9}, {"seconds": 1, "steps": "x"}):
            self.send(monitor, **record) if isinstance(record, dict) else monitor.send(cmd="snapshot", format="pytorch", record=record)
            self.assertEqual(monitor.receive()["error"]["code"], "bad_request", record)
        monitor.send(cmd="snapshot", record={"seconds": 1})
        self.assertEqual(monitor.receive()["error"]["code"], "bad_request", "a map has no lines")
        job, monitor = self.begin(VRAMSCOPE_STEPS="0")
        self.send(monitor, seconds=1, steps=1)
        self.assertEqual(monitor.receive()["error"]["code"], "unsupported")
        job, monitor = self.begin(FAKE_TORCH_VERSION="2.0.1")
        self.send(monitor, seconds=1)
        self.assertEqual(monitor.receive()["error"]["code"], "unsupported")

    def test_the_summary(self):
        job, monitor = self.begin("other = torch.empty(1, 1)")
        file = tempfile.TemporaryFile(dir=self.directory)
        monitor.send_file(file, cmd="snapshot", format="summary")
        answer = monitor.receive()
        text = os.pread(file.fileno(), 1 << 20, 0).decode()
        self.assertEqual((answer["format"], answer["bytes"]), ("summary", len(text)))
        self.assertEqual([line.split()[-2] for line in text.splitlines()], ["0", "1"])
        file.close()

    def test_the_snapshot_of_an_error(self):
        directory = os.path.join(self.directory, "errors")
        os.mkdir(directory)
        job = self.job("import torch", "def grow():\n return torch.empty(3 << 20)", "kept = grow()", VRAMSCOPE_SNAPSHOT_ON_OOM=directory)
        for _ in range(5):
            self.assertIn("OutOfMemoryError", str(job.do("torch.empty(1 << 40)")))
        names = ["oom-%d-%d.pickle" % (job.process.pid, n) for n in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(directory)), names)
        with open(os.path.join(directory, names[0]), "rb") as file:
            self.assertEqual(self.blocks(file), {"grow": 3 * MIB})
            self.assertEqual(os.fstat(file.fileno()).st_mode & 0o777, 0o600)

    def test_the_history_from_the_start(self):
        directory = os.path.join(self.directory, "traces")
        os.mkdir(directory)
        job = self.job("import torch", "kept = torch.empty(3 << 20)", VRAMSCOPE_RECORD_MEMORY=directory)
        self.assertEqual([(c["enabled"], c["context"], c["max_entries"]) for c in job.do("torch.cuda.calls")], [("all", None, 1 << 20)])
        earlier, name = (os.path.join(directory, "memory-%d%s.pickle" % (job.process.pid, end)) for end in ("", "-2"))
        self.assertEqual(os.listdir(directory), [])
        open(earlier, "x").close()  # of an earlier process with this PID
        for code in ("torch.cuda.empty_cache()", "torch.empty(1 << 20).numel()", "torch.cuda.empty_cache()"):
            job.do(code)
        self.assertEqual((job.end(), job.errors()), (0, ""))
        self.assertEqual(os.path.getsize(earlier), 0)
        with open(name, "rb") as file:
            self.assertEqual(list(self.blocks(file).values()), [3 * MIB])
            self.assertEqual(os.fstat(file.fileno()).st_mode & 0o777, 0o600)
            pickle.load(file)
            self.assertEqual(json.load(file), {"emptied": {"0": [1, 3]}}, "after an allocation, and after another and its end")

    def test_the_place_of_an_emptying_beside_another_thread_is_unknown(self):
        directory = os.path.join(self.directory, "traces")
        for beside, known in (("other.append(torch.empty(1 << 20))", False), ("other.pop()", False), ("None", True)):
            with self.subTest(beside):
                os.makedirs(directory)
                job = self.job("import torch, threading", "other = [torch.empty(3 << 20)]; pending = torch.empty(1 << 20); pending.record_stream(); pending = None",
                               "empty = torch.cuda._allocators[0].empty",
                               "def slow():\n t = threading.Thread(target=lambda: %s); t.start(); t.join(); empty()\ntorch.cuda._allocators[0].empty = slow" % beside,
                               VRAMSCOPE_RECORD_MEMORY=directory)
                job.do("torch.cuda.empty_cache()")
                self.assertEqual((job.end(), job.errors()), (0, ""))
                with open(os.path.join(directory, os.listdir(directory)[0]), "rb") as file:
                    pickle.load(file)
                    self.assertEqual(file.read(), b'{"emptied":{"0":[3]}}' if known else b"")
                shutil.rmtree(directory)

    def test_counters_that_are_reset_say_nothing(self):
        directory = os.path.join(self.directory, "traces")
        os.mkdir(directory)
        job = self.job("import torch", "kept = torch.empty(3 << 20)", VRAMSCOPE_RECORD_MEMORY=directory)
        job.do("torch.cuda.empty_cache(), torch._C._cuda_resetAccumulatedMemoryStats(0), torch.cuda.empty_cache()")
        self.assertEqual((job.end(), job.errors()), (0, ""))
        with open(os.path.join(directory, os.listdir(directory)[0]), "rb") as file:
            pickle.load(file)
            self.assertEqual(file.read(), b"")


if __name__ == "__main__":
    unittest.main()
