"""Maps and snapshots of PyTorch's blocks."""

import array
import json
import os
import pickle
import socket
import tempfile
import unittest

from harness import MIB, Case, until
from test_pytorch import CHURN


class Snapshot(Case):
    def ask(self, monitor, file, **fields):
        monitor.send_file(file, cmd="snapshot", **fields)
        return monitor.receive()

    def file(self):
        file = tempfile.TemporaryFile(dir=self.directory)
        self.addCleanup(file.close)
        return file

    def map(self, monitor, **fields):
        """The map as a monitor reads it, after the checks that apply to every map."""
        file = self.file()
        answer = self.ask(monitor, file, **fields)
        self.assertTrue(answer["ok"], answer)
        content = os.pread(file.fileno(), 1 << 30, 0)
        self.assertEqual((answer["format"], answer["bytes"]), ("vramscope/segments/1", len(content)))
        found = json.loads(content)
        self.assertEqual(found["schema"], "vramscope/segments/1")
        for device in found["devices"]:
            for segment in device["segments"]:
                self.assertEqual(sum(size for size, _ in segment["blocks"]), segment["size"])
        return {device["uuid"]: device for device in found["devices"]}

    def uuid(self, monitor):
        (uuid,) = self.allocators(monitor)
        return uuid

    def sums(self, device):
        sums = {}
        for segment in device["segments"]:
            for size, state in segment["blocks"]:
                sums[state] = sums.get(state, 0) + size
        return sums

    def settled(self, *setup, **options):
        return self.job("import vramscope_probe as v; v._SNAPSHOT_MOST = v._SNAPSHOT_SHARE = 1e9",
                        "v._MAP_MOST = v._MAP_SHARE = 1e9; v._STATS_TIME = -1e9",
                        *setup, **options)

    def test_a_map_adds_up_to_the_stats(self):
        for conf in ("", "expandable_segments:True"):
            with self.subTest(conf):
                job = self.settled(CHURN % 5, "t = torch.empty(30 << 20, 1); t.record_stream(); del t",
                                   PYTORCH_CUDA_ALLOC_CONF=conf)
                monitor = self.monitor(job)
                found = self.map(monitor)
                device = found[self.uuid(monitor)]
                a = self.one(monitor)
                sums = self.sums(device)
                self.assertEqual(sums["live"] + sums["pending"], a["allocated_bytes"])
                self.assertEqual(sums["pending"], a["pending_bytes"])
                self.assertEqual(sums["stuck"], a["fragmented_bytes"])
                self.assertEqual(sums["cached"], a["cached_bytes"])
                self.assertLessEqual(sums["cached"], a["returnable_bytes"])  # which also counts the pending memory that is freed
                self.assertEqual(sum(sums.values()), a["reserved_bytes"])
                addresses = [segment["address"] for segment in device["segments"]]
                self.assertEqual(addresses, sorted(addresses))
                self.assertEqual({segment["pool"] for segment in device["segments"]}, {"small", "large"})
                self.assertEqual(any(segment.get("expandable") for segment in device["segments"]), bool(conf))
                self.assertEqual((device["left"], job.do("torch.cuda.contexts()")), (0, [1]))

    def test_a_graphs_private_pool_is_fragmented(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)", "torch.cuda._allocators[0].private = (0, 1)",
                           "v = torch.empty(50 << 20); del t, v")
        monitor = self.monitor(job)
        (device,) = self.map(monitor).values()
        self.assertEqual(self.sums(device), {"cached": 30 * MIB, "stuck": 50 * MIB})
        self.assertEqual([s.get("private", False) for s in device["segments"]], [False, True])
        self.assertEqual(self.one(monitor)["returnable_bytes"], 30 * MIB)

    def test_chosen_devices(self):
        job = self.settled("import torch; t, u = torch.empty(40 << 20, 0), torch.empty(40 << 20, 1)")
        monitor = self.monitor(job)
        uuid = sorted(self.allocators(monitor))[1]
        self.assertEqual(list(self.map(monitor, devices=[uuid])), [uuid])
        self.assertEqual(list(self.map(monitor, devices=["GPU-none"])), [])
        self.assertEqual(len(self.map(monitor)), 2)

    def test_what_does_not_fit_is_left_out_and_counted(self):
        setup = "import torch; big = [torch.empty(40 << 20) for _ in range(3)]; small = [torch.empty(600) for _ in range(30)]"
        job = self.settled(setup, "v._MAP_SEGMENTS = 2")
        monitor = self.monitor(job)
        (device,) = self.map(monitor).values()
        self.assertEqual([s["size"] for s in device["segments"]], [40 * MIB] * 2)
        self.assertEqual(device["left"], 2)
        # With too many blocks, equal neighbours are merged first.
        job.do("v._MAP_SEGMENTS, v._MAP_BLOCKS = 8192, 5")
        (device,) = self.map(monitor).values()
        self.assertEqual((len(device["segments"]), device["left"]), (4, 0))
        self.assertEqual([state for _, state in device["segments"][-1]["blocks"]], ["live", "stuck"])
        job.do("v._MAP_BLOCKS = 4")
        (device,) = self.map(monitor).values()
        self.assertEqual((len(device["segments"]), device["left"]), (3, 1))

    def test_pytorchs_own_snapshot(self):
        for release in ("1.13.1", "2.6.0"):
            job = self.settled(CHURN % 9, FAKE_TORCH_VERSION=release)
            file = self.file()
            answer = self.ask(self.monitor(job), file, format="pytorch")
            self.assertEqual((answer["ok"], answer["format"]), (True, "pytorch"), answer)
            self.assertEqual(answer["bytes"], os.fstat(file.fileno()).st_size)
            whole = pickle.loads(os.pread(file.fileno(), 1 << 30, 0))
            self.assertEqual(whole, job.do("torch.cuda.memory._snapshot()"))
            self.assertTrue({"segments", "device_traces"} <= set(whole))

    def test_snapshot_with_history(self):
        job = self.settled("import torch; torch.cuda.history = True; torch.cuda.traces = 50000", "t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        refused = self.ask(monitor, self.file())
        self.assertEqual(refused["error"]["code"], "unsupported")
        self.assertIn("history", refused["error"]["message"])
        file = self.file()
        answer = self.ask(monitor, file, format="pytorch")
        self.assertIn("it includes the recorded memory history", answer["notes"])
        whole = pickle.loads(os.pread(file.fileno(), 1 << 30, 0))
        self.assertEqual(len(whole["device_traces"][0]), 50000)

    def test_the_collector_is_off_during_a_snapshot(self):
        """A child that is forked meanwhile would stay without the collector, so forks wait."""
        for threshold in 600, 0:
            for end in "", "raise MemoryError":
                with self.subTest(threshold=threshold, end=end):
                    job = self.settled(
                        "import gc, threading, torch; seen = []; real = torch.cuda.memory._snapshot; gc.set_threshold(%d)" % threshold,
                        "def snapshot():\n"
                        "    try_fork = threading.Thread(target=lambda: seen.append((gc.get_threshold()[0] not in (0, v._STOPPED), v._no_fork.acquire(False))))\n"
                        "    try_fork.start(); try_fork.join()\n    %s\n    return real()" % end,
                        "torch.cuda.memory._snapshot = snapshot; t = torch.empty(30 << 20)")
                    monitor = self.monitor(job)
                    self.one(monitor)
                    self.assertEqual(self.ask(monitor, self.file())["ok"], not end)
                    self.assertEqual(set(job.do("seen")), {(False, False)})
                    self.assertEqual(job.do("gc.get_threshold()[0]"), threshold)
                    self.assertTrue(job.do("v._no_fork.acquire(False)"))

    def test_a_map_that_costs_too_much_is_refused(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        job.do("v._MAP_MOST = 0")
        self.assertIn("would pause the program", self.ask(monitor, self.file())["error"]["message"])
        job.do("v._MAP_MOST, v._MAP_SHARE = 1e-5, 1e-9")
        job.do("v._agent.memory._torch._map_cost = 0")
        self.assertTrue(self.ask(monitor, self.file())["ok"])
        self.assertEqual(self.ask(monitor, self.file())["error"]["code"], "rate_limited")
        self.assertTrue(self.ask(monitor, self.file(), format="pytorch")["ok"], "a pytorch snapshot is not limited")

    def test_why_there_is_no_snapshot(self):
        start = "import vramscope_probe as v; v._start(at_once=True)"
        for setup, reason in (
            ("1", "only PyTorch"), ("import torch", "has not begun to use a GPU"),
            ("import torch; t = torch.cuda.init(); torch.cuda.get_allocator_backend = lambda: 'pluggable'", "pluggable"),
        ):
            job = self.job(start, setup) if setup != "1" else self.job(start)
            monitor = self.monitor(job)
            self.assertNotIn("snapshot", monitor.ask("hello")["capabilities"])
            error = self.ask(monitor, self.file(), format="pytorch")["error"]
            self.assertEqual(error["code"], "unsupported")
            self.assertIn(reason, error["message"])
            if setup == "import torch":
                self.assertFalse(job.do("torch.cuda.is_initialized()"))

    def test_descriptors(self):
        job = self.settled("import torch, os; t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        self.assertIn("snapshot", monitor.ask("hello")["capabilities"])
        before = job.do("len(os.listdir('/proc/self/fd'))")
        read, write = os.pipe()
        readonly = open(os.path.join(self.directory, "readonly"), "w+")
        also = open(readonly.name)
        path = os.open(readonly.name, os.O_PATH)
        for fd, reason in ((write, "not a regular file"), (also.fileno(), "not open for writing"), (path, "not open for writing")):
            error = self.ask(monitor, fd)["error"]
            self.assertEqual(error["code"], "bad_request")
            self.assertIn(reason, error["message"])
        # Several descriptors come with a request that takes none, and in the middle of a line.
        monitor.send_file(self.file(), self.file(), self.file(), cmd="stats")
        self.assertTrue(monitor.receive()["ok"])
        many = [self.file() for _ in range(100)]
        monitor.send_file(*many, cmd="stats")
        self.assertTrue(monitor.receive()["ok"])
        self.assertEqual(monitor.ask("snapshot")["error"]["code"], "bad_request", "an earlier request's descriptor is not used")
        other = self.monitor(job)
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [self.file().fileno()]))]
        other.sock.sendmsg([b'{"id":1,'], ancillary)
        other.close()
        self.assertTrue(self.ask(monitor, self.file())["ok"])
        until("every descriptor to be closed", lambda: job.do("len(os.listdir('/proc/self/fd'))") == before)
        for fd in (read, write, path):
            os.close(fd)
        readonly.close()
        also.close()

    def test_a_full_file(self):
        job = self.settled(CHURN % 2, "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (300, 1 << 40))")
        monitor = self.monitor(job)
        for name in ("pytorch", "segments"):
            error = self.ask(monitor, self.file(), format=name)["error"]
            self.assertEqual(error["code"], "internal")
            self.assertIn("file failed after 300 B: File too large", error["message"])
        self.assertTrue(monitor.ask("stats")["ok"])
        if os.path.exists("/dev/full"):  # /dev/full is refused as a descriptor, so it is written to directly
            job.do("full = open('/dev/full', 'wb', 0); out = v._SnapshotFile(full.fileno(), lambda: True)")
            raised = job.do("import json\ntry:\n    out.write(b'x' * 9)\nexcept v._Refusal as r:\n    refused = str(r)")
            self.assertIsNone(raised)
            self.assertIn("No space left on device", job.do("refused"))

    def test_stats_during_a_snapshot_and_one_at_a_time(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)")
        first, second = self.monitor(job), self.monitor(job)
        job.do("v._SnapshotFile.write_through, v._SnapshotFile.write = v._SnapshotFile.write, lambda self, c: gate.wait() and self.write_through(c)")
        job.do("import threading; gate = threading.Event()")
        file = self.file()
        first.send_file(file, cmd="snapshot", format="pytorch")
        until("the snapshot to begin", lambda: job.do("list(v._agent.commands.running)") == ["snapshot"])
        self.assertTrue(second.ask("stats")["ok"])
        self.assertEqual(self.ask(second, self.file(), format="pytorch")["error"]["code"], "busy")
        self.assertTrue(second.ask("flush", level="gradual")["ok"])
        job.do("gate.set()")
        self.assertTrue(first.receive()["ok"])

    def test_a_monitor_disconnects_during_a_snapshot(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)", "import threading; gate = threading.Event()")
        monitor = self.monitor(job)
        job.do("v._SnapshotFile.write_through, v._SnapshotFile.write = v._SnapshotFile.write, lambda self, c: gate.wait() and self.write_through(c)")
        file = self.file()
        monitor.send_file(file, cmd="snapshot", format="pytorch")
        until("the snapshot to begin", lambda: job.do("list(v._agent.commands.running)") == ["snapshot"])
        monitor.close()
        until("the disconnection to be noticed", lambda: job.do("len(v._agent._server._connections)") == 0)
        job.do("gate.set()")
        again = self.monitor(job)
        until("the snapshot to end", lambda: not job.do("list(v._agent.commands.running)"))
        self.assertEqual(os.fstat(file.fileno()).st_size, 0)
        self.assertTrue(self.ask(again, self.file(), format="pytorch")["ok"])


if __name__ == "__main__":
    unittest.main()
