"""The stats of PyTorch's memory."""

import unittest

from harness import FRESH, MIB, Case

GPU1 = "GPU-8f1c0000-0000-0000-0000-000000000001"

# Fragments the cache on GPU 1; the seed decides how.
CHURN = """
import random, torch
torch.cuda.set_device(1)
choose = random.Random(%d)
live = []
for step in range(400):
    if choose.random() < 0.6:
        live.append(torch.empty(choose.choice([700, 30000, 400000, 3 << 20, 9 << 20, 25 << 20]), 1))
    elif live:
        live.pop(choose.randrange(len(live)))
    if len(live) > 25:
        live.pop(0)
"""


def sums(snapshot):
    """(reserved, active, largest free block) of a snapshot, computed independently of the probe."""
    blocks = [b for s in snapshot for b in s["blocks"]]
    return (sum(s["total_size"] for s in snapshot), sum(b["size"] for b in blocks if b["state"] != "inactive"),
            max((b["size"] for b in blocks if b["state"] == "inactive"), default=0))


def fragmented_segments(snapshot, large_page=20):
    """The number of segments with free memory that no flush frees."""
    count = 0
    for s in snapshot:
        states = [b["state"] for b in s["blocks"]]
        if s.get("is_expandable"):
            page = (2 if s["segment_type"] == "small" else large_page) * MIB
            at, fragmented = 0, 0
            for b in s["blocks"]:
                if b["state"] == "inactive":
                    pages = [p for p in range(0, s["total_size"], page) if at <= p and p + page <= at + b["size"]]
                    fragmented += b["size"] - page * len(pages)
                at += b["size"]
            count += fragmented > 0
        else:
            count += "inactive" in states and any(state != "inactive" for state in states)
    return count


class Stats(Case):
    def settled(self, *setup, **options):
        """A job whose stats are read at each request, however slow the machine."""
        return self.job("import vramscope_probe as v; v._SNAPSHOT_MOST = v._SNAPSHOT_SHARE = 1e9",
                        "v._STATS_TIME = -1e9", *setup, **options)

    def test_every_pytorch_release(self):
        for release in ("1.13.1", "2.0.1", "2.1.0", "2.3.1", "2.6.0", "2.11.0"):
            for conf in ("", "expandable_segments:True") if release > "2.1" or release == "2.11.0" else ("",):
                with self.subTest(release=release, conf=conf):
                    self.stats_and_flush(release, conf)

    def stats_and_flush(self, release, conf):
        job = self.settled(CHURN % 7, FAKE_TORCH_VERSION=release, PYTORCH_CUDA_ALLOC_CONF=conf)
        monitor = self.monitor(job)
        if release < "2.4" and release != "2.11.0" and "FAKE_TORCH_DRIVER" not in job.environ:
            self.assertEqual(monitor.ask("stats")["devices"], [], "its UUID is unknown")
            return
        a = self.one(monitor)
        self.assertEqual((a["kind"], a["basis"]), ("pytorch", "stranded"))
        reserved, active, largest = sums(job.do("torch.cuda.memory_snapshot()"))
        self.assertEqual((a["reserved_bytes"], a["allocated_bytes"], a["pending_bytes"]), (reserved, active, 0))
        stats = job.do("torch.cuda.memory_stats(1)")
        if conf:
            self.assertEqual(stats["segment.all.current"], 0)
        if "segments" not in a:  # on a busy machine no snapshot was due
            a = self.one(monitor)
        self.assertEqual(a["segments"], len(job.do("torch.cuda.memory_snapshot()")))
        self.assertEqual((a["out_of_memory_count"], a["alloc_retries"]), (0, 0))
        self.assertEqual(a["blocks"], stats["active.all.current"])
        self.assertEqual(a["peak_allocated_bytes"], stats["active_bytes.all.peak"])
        self.assertEqual(a["peak_reserved_bytes"], stats["reserved_bytes.all.peak"])
        self.assertEqual(a.get("config", ""), conf)
        self.assertGreater(a["fragmented_bytes"], 0)
        self.assertGreater(a["returnable_bytes"], 0)
        self.assertEqual(a["largest_free_bytes"], largest)
        self.pools(a)
        self.assertEqual(a["stranded_segments"], fragmented_segments(job.do("torch.cuda.memory_snapshot()")))
        # The flush frees what the dry run predicted, and the rest is fragmented.
        predicted = monitor.ask("flush", level="gradual", dry_run=True)["devices"]
        done = monitor.ask("flush", level="gradual")
        self.assertEqual(done["devices"], predicted)
        self.assertEqual(predicted[0]["freed_bytes"], a["returnable_bytes"])
        after, _, _ = sums(job.do("torch.cuda.memory_snapshot()"))
        self.assertEqual(done["devices"][0]["after_bytes"], after)
        a = self.one(monitor)
        self.assertEqual((a["cached_bytes"], a["allocated_bytes"]), (0, active))
        self.assertEqual(job.do("torch.cuda.contexts()"), [1], "a context was made on an unused GPU")

    def pools(self, a):
        """The small and the large pool must add up to the allocator."""
        self.assertEqual([pool["name"] for pool in a["pools"]], ["small", "large"])
        for name in ("reserved_bytes", "allocated_bytes", "fragmented_bytes", "segments"):
            self.assertEqual(sum(pool[name] for pool in a["pools"]), a[name], name)
        self.assertTrue(all(pool["reserved_bytes"] > 0 for pool in a["pools"]), a["pools"])

    def test_settings_changed_by_the_program(self):
        job = self.settled("import torch; torch.cuda.memory._set_allocator_settings('max_split_size_mb:' + '9' * 400)",
                           "t = torch.empty(1)")
        a = self.one(self.monitor(job))
        self.assertTrue(a["config"].startswith("max_split_size_mb:999"))
        self.assertLessEqual(len(a["config"]), 256)

    def test_flush_frees_what_is_returnable(self):
        for seed in range(6):
            for conf in ("", "expandable_segments:True"):
                with self.subTest(seed=seed, conf=conf):
                    job = self.settled(CHURN % seed, PYTORCH_CUDA_ALLOC_CONF=conf)
                    monitor = self.monitor(job)
                    a = self.one(monitor)
                    done = monitor.ask("flush", level="gradual")["devices"][0]
                    self.assertEqual(done["freed_bytes"], a["returnable_bytes"])
                    self.assertEqual(done["after_bytes"], a["allocated_bytes"] + a["fragmented_bytes"])

    def test_pending_is_allocated_and_freed_by_a_flush(self):
        job = self.settled("import torch; t = torch.empty(30 << 20); t.record_stream(); del t")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["allocated_bytes"], a["pending_bytes"], a["cached_bytes"]), (30 * MIB, 30 * MIB, 0))
        self.assertEqual(a["returnable_bytes"], 30 * MIB)
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 30 * MIB)

    def test_pending_memory_is_predicted(self):
        for seed in range(4):
            for conf in ("", "expandable_segments:True"):
                with self.subTest(seed=seed, conf=conf):
                    # Half of the live tensors are freed while another stream uses them.
                    pending = "for t in live[::2]: t.record_stream()\ndel t, live[::2]"
                    job = self.settled(CHURN % seed, pending, PYTORCH_CUDA_ALLOC_CONF=conf)
                    monitor = self.monitor(job)
                    a = self.one(monitor)
                    self.assertGreater(a["pending_bytes"], 0)
                    self.assertNotIn("returnable_bound", a)
                    self.pools(a)
                    done = monitor.ask("flush", level="gradual")["devices"][0]
                    self.assertEqual(done["freed_bytes"], a["returnable_bytes"])
                    self.assertEqual(self.one(monitor)["returnable_bytes"], 0)

    def test_without_a_snapshot_the_prediction_is_a_bound(self):
        job = self.settled("import vramscope_probe as v; v._SNAPSHOT_MOST = 0", "import torch; t = torch.empty(30 << 20)",
                           "u = torch.empty(40 << 20); del u")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["returnable_bytes"], a["returnable_bound"]), (40 * MIB, "most"))
        self.assertIn("at most: ", monitor.ask("flush", level="gradual", dry_run=True)["notes"][0])
        job.do("t.record_stream(); del t")
        self.assertEqual(self.one(monitor)["returnable_bound"], "about")
        self.assertIn("about: ", monitor.ask("flush", level="gradual", dry_run=True)["notes"][0])

    def test_the_page_size_is_read_from_the_settings(self):
        conf = "expandable_segments:True,large_segment_size_mb:64"
        job = self.settled(CHURN % 5, PYTORCH_CUDA_ALLOC_CONF=conf, FAKE_TORCH_VERSION="2.15.0")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertNotIn("returnable_bound", a)
        self.assertEqual(a["stranded_segments"], fragmented_segments(job.do("torch.cuda.memory_snapshot()"), 64))
        done = monitor.ask("flush", level="gradual")["devices"][0]
        self.assertGreater(done["freed_bytes"], 0)
        self.assertEqual(done["freed_bytes"], a["returnable_bytes"])

    def test_the_page_size_is_uncertain_once_the_settings_were_changed(self):
        for release in ("2.8.0", "2.15.0"):
            job = self.settled("import torch; torch.cuda.memory._set_allocator_settings('expandable_segments:True')",
                               CHURN % 5, FAKE_TORCH_VERSION=release)
            monitor = self.monitor(job)
            a = self.one(monitor)
            # 2.8 has one page size; in 2.15 an earlier setting may have changed it.
            self.assertEqual(a.get("returnable_bound"), {"2.8.0": None, "2.15.0": "about"}[release])
            self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], a["returnable_bytes"])

    def test_a_graphs_private_pool_is_not_returnable(self):
        job = self.settled("import torch; t = torch.empty(30 << 20); u = torch.empty(40 << 20)",
                           "torch.cuda._allocators[0].private = (0, 1); v = torch.empty(50 << 20); del t, v",
                           "torch.cuda._allocators[0].private = (0, 0)")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["cached_bytes"], a["returnable_bytes"], a["returnable_bound"]), (80 * MIB, 30 * MIB, "least"))
        notes = monitor.ask("flush", level="gradual", dry_run=True)["notes"]
        self.assertEqual(notes, ["at least: private pools that nothing uses any more are freed, too"])
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 30 * MIB)
        job.do("torch.cuda._allocators[0].unused.add((0, 1))")
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 50 * MIB)

    def test_what_is_asleep_takes_no_memory(self):
        job = self.settled(FRESH, "asleep = set(); v._Driver.mapped = lambda self, address: address not in asleep",
                           "import torch; live = [torch.empty(64 << 20), torch.empty(300_000)]; pool = torch.cuda.MemPool()",
                           "with torch.cuda.use_mem_pool(pool): weights, cache = torch.empty(200 << 20), torch.empty(30 << 20)",
                           "del cache")
        monitor = self.monitor(job)
        awake = self.one(monitor)
        self.assertNotIn("asleep_bytes", awake)
        private = "[s for s in torch.cuda.memory_snapshot() if s['segment_pool_id'] != (0, 0)]"
        size = job.do("sum(s['total_size'] for s in %s)" % private)
        job.do("asleep.update(s['address'] for s in %s)" % private)
        a = self.one(monitor)
        self.assertEqual(a["asleep_bytes"], size)
        self.assertEqual(a["reserved_bytes"], awake["reserved_bytes"] - size)
        self.assertEqual(a["allocated_bytes"], awake["allocated_bytes"] - (200 << 20))
        self.assertEqual((a["pools"][1]["reserved_bytes"], a["pools"][0]), (64 << 20, awake["pools"][0]))
        self.assertEqual(a["peak_reserved_bytes"], awake["peak_reserved_bytes"])
        job.do("more = torch.empty(100 << 20)")
        self.assertEqual(self.one(monitor)["reserved_bytes"], a["reserved_bytes"] + (100 << 20))
        job.do("del more; torch.cuda.empty_cache()")
        a = self.one(monitor)
        job.do("asleep.clear()")
        awake = self.one(monitor)
        self.assertEqual((awake["reserved_bytes"], "asleep_bytes" in awake), (a["reserved_bytes"] + a["asleep_bytes"], False))

    def test_out_of_memory_is_counted(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)")
        self.assertIn("OutOfMemoryError", job.do("torch.empty(1 << 50)"))
        a = self.one(self.monitor(job))
        self.assertEqual((a["out_of_memory_count"], a["alloc_retries"]), (1, 1))

    def test_no_snapshot_while_history_is_recorded(self):
        for release in ("2.0.1", "2.6.0"):
            job = self.settled("import torch; torch.cuda.history = True", "t = torch.empty(30 << 20)",
                               FAKE_TORCH_VERSION=release)
            monitor = self.monitor(job)
            for _ in range(5):
                monitor.ask("stats")
            # Before 2.1 only a snapshot shows that history is recorded.
            self.assertEqual(job.do("torch.cuda.snapshots"), 1 if release < "2.1" else 0)

    def test_no_snapshot_of_very_many_blocks(self):
        job = self.settled("import torch, vramscope_probe as v; v._SNAPSHOT_MOST = 1e-9", "t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual(job.do("torch.cuda.snapshots"), 0)
        self.assertNotIn("largest_free_bytes", a)
        self.assertEqual(a["allocated_bytes"], 30 * MIB)

    def test_one_slow_snapshot_does_not_end_them(self):
        job = self.settled("v._SNAPSHOT_MOST = 0.02", "import torch; t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        self.one(monitor)
        job.do("pytorch = v._agent.memory._torch; pytorch._map_cost = 0.1")  # the thread had to wait for a processor
        seen = []
        while not any(seen) and len(seen) < 20:  # each round stands for the next ten seconds
            job.do("v._agent.memory._due = pytorch._next_map = 0")
            seen.append("largest_free_bytes" in self.one(monitor))
        self.assertFalse(seen[0], "not at once")
        self.assertTrue(seen[-1], "one is taken again")

    def test_fragmented_in_expandable_segments_is_unknown_without_a_snapshot(self):
        job = self.settled("import vramscope_probe as v; v._SNAPSHOT_MOST = 0", CHURN % 3,
                           PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        a = self.one(self.monitor(job))
        for unknown in ("fragmented_bytes", "cached_bytes", "returnable_bytes", "segments", "stranded_segments"):
            self.assertNotIn(unknown, a)

    def test_stats_are_read_once_a_second(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = 3600", "import torch; t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        first = monitor.ask("stats")
        job.do("u = torch.empty(30 << 20)")
        self.assertEqual(monitor.ask("stats"), first)
        monitor.ask("flush", level="gradual")
        self.assertEqual(self.one(monitor)["allocated_bytes"], 60 * MIB, "read again after a flush")

    def test_a_failing_library_does_no_harm(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)", "def boom(*a): raise MemoryError()",
                           VRAMSCOPE_PROBE_DEBUG="")
        monitor = self.monitor(job)
        job.do("torch.cuda.memory_stats_as_nested_dict = boom")
        self.assertEqual(monitor.ask("stats")["devices"], [])
        self.assertTrue(monitor.ask("flush", level="urgent")["ok"])
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.errors(), "")

    def test_while_the_program_allocates_on_many_threads(self):
        work = """
import threading
def work(seed):
    choose = random.Random(seed)
    mine = []
    for step in range(150):
        with lock:
            mine.append(torch.empty(choose.choice([700, 3 << 20, 25 << 20])))
            if len(mine) > 5:
                mine.pop(choose.randrange(5))
    with lock:
        mine.clear()
        done.append(seed)
lock, done = threading.Lock(), []
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
for t in threads: t.start()
"""
        job = self.settled("import random, torch; t = torch.empty(1)")
        monitor = self.monitor(job)
        job.do(work)
        for _ in range(100):
            for allocators in self.allocators(monitor).values():
                self.assertEqual(len(allocators), 1)
        job.do("for t in threads: t.join()")
        self.assertEqual(job.do("sorted(done)"), [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
