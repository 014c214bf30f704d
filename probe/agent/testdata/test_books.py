"""What the probe says of PyTorch's memory, and what a flush gives back."""

import unittest

from harness import MIB, Case, until

GPU1 = "GPU-8f1c0000-0000-0000-0000-000000000001"

# A program whose cache is fragmented in a way that a seed decides, on GPU 1.
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
    """What a snapshot adds up to, counted apart from the probe."""
    blocks = [b for s in snapshot for b in s["blocks"]]
    return (sum(s["total_size"] for s in snapshot), sum(b["size"] for b in blocks if b["state"] != "inactive"),
            max((b["size"] for b in blocks if b["state"] == "inactive"), default=0))


def stranded(snapshot):
    """How many segments have free memory that a flush leaves there."""
    count = 0
    for s in snapshot:
        states = [b["state"] for b in s["blocks"]]
        if s.get("is_expandable"):
            page = (2 if s["segment_type"] == "small" else 20) * MIB
            at, stuck = 0, 0
            for b in s["blocks"]:
                if b["state"] == "inactive":
                    pages = [p for p in range(0, s["total_size"], page) if at <= p and p + page <= at + b["size"]]
                    stuck += b["size"] - page * len(pages)
                at += b["size"]
            count += stuck > 0
        else:
            count += "inactive" in states and any(state != "inactive" for state in states)
    return count


class Books(Case):
    def settled(self, *setup, **options):
        """A job whose books are read anew at each question, however slow the machine."""
        return self.job("import vramscope_probe as v; v._SNAPSHOT_MOST = v._SNAPSHOT_SHARE = 1e9",
                        "v._STATS_TIME = -1e9", *setup, **options)

    def test_every_release(self):
        for release in ("1.13.1", "2.0.1", "2.1.0", "2.3.1", "2.6.0", "2.11.0"):
            for conf in ("", "expandable_segments:True") if release > "2.1" or release == "2.11.0" else ("",):
                with self.subTest(release=release, conf=conf):
                    self.books_and_flush(release, conf)

    def books_and_flush(self, release, conf):
        job = self.settled(CHURN % 7, FAKE_TORCH_VERSION=release, PYTORCH_CUDA_ALLOC_CONF=conf)
        monitor = self.monitor(job)
        if release < "2.4" and release != "2.11.0" and "FAKE_TORCH_DRIVER" not in job.environ:
            self.assertEqual(monitor.ask("stats")["devices"], [], "nobody tells its UUID")
            return
        a = self.one(monitor)
        self.assertEqual((a["kind"], a["basis"]), ("pytorch", "stranded"))
        reserved, active, largest = sums(job.do("torch.cuda.memory_snapshot()"))
        self.assertEqual((a["reserved_bytes"], a["allocated_bytes"], a["pending_bytes"]), (reserved, active, 0))
        stats = job.do("torch.cuda.memory_stats(1)")
        self.assertEqual(a["segments"], stats["segment.all.current"])
        self.assertEqual((a["out_of_memory_count"], a["alloc_retries"]), (0, 0))
        self.assertEqual(a["blocks"], stats["active.all.current"])
        self.assertEqual(a["peak_allocated_bytes"], stats["active_bytes.all.peak"])
        self.assertEqual(a["peak_reserved_bytes"], stats["reserved_bytes.all.peak"])
        self.assertEqual(a.get("config", ""), conf)
        if "fragmented_bytes" not in a:  # a busy machine: the snapshot was not due
            a = self.one(monitor)
        self.assertGreater(a["fragmented_bytes"], 0)
        self.assertGreater(a["returnable_bytes"], 0)
        self.assertEqual(a["largest_free_bytes"], largest)
        self.pools(a)
        self.assertEqual(a["stranded_segments"], stranded(job.do("torch.cuda.memory_snapshot()")))
        # What is announced is what comes back, and the rest is stuck.
        said = monitor.ask("flush", level="gradual", dry_run=True)["devices"]
        done = monitor.ask("flush", level="gradual")
        self.assertEqual(done["devices"], said)
        self.assertEqual(said[0]["freed_bytes"], a["returnable_bytes"])
        after, _, _ = sums(job.do("torch.cuda.memory_snapshot()"))
        self.assertEqual(done["devices"][0]["after_bytes"], after)
        a = self.one(monitor)
        self.assertEqual((a["cached_bytes"], a["allocated_bytes"]), (0, active))
        self.assertEqual(job.do("torch.cuda.contexts()"), [1], "a context on a GPU that the program does not use")

    def pools(self, a):
        """The small and the large pool make up the allocator."""
        self.assertEqual([pool["name"] for pool in a["pools"]], ["small", "large"])
        for name in ("reserved_bytes", "allocated_bytes", "fragmented_bytes", "segments"):
            self.assertEqual(sum(pool[name] for pool in a["pools"]), a[name], name)
        self.assertTrue(all(pool["reserved_bytes"] > 0 for pool in a["pools"]), a["pools"])

    def test_settings_changed_by_the_program(self):
        job = self.settled("import torch; torch.cuda.settings = 'max_split_size_mb:' + '9' * 400", "t = torch.empty(1)")
        a = self.one(self.monitor(job))
        self.assertTrue(a["config"].startswith("max_split_size_mb:999"))
        self.assertLessEqual(len(a["config"]), 256)

    def test_many_programs(self):
        for seed in range(6):
            for conf in ("", "expandable_segments:True"):
                with self.subTest(seed=seed, conf=conf):
                    job = self.settled(CHURN % seed, PYTORCH_CUDA_ALLOC_CONF=conf)
                    monitor = self.monitor(job)
                    a = self.one(monitor)
                    done = monitor.ask("flush", level="gradual")["devices"][0]
                    self.assertEqual(done["freed_bytes"], a["returnable_bytes"])
                    self.assertEqual(done["after_bytes"], a["allocated_bytes"] + a["fragmented_bytes"])

    def test_pending(self):
        job = self.settled("import torch; t = torch.empty(30 << 20); t.record_stream(); del t")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["allocated_bytes"], a["pending_bytes"], a["cached_bytes"]), (30 * MIB, 30 * MIB, 0))
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 30 * MIB)

    def test_a_graphs_private_pool_is_not_returnable(self):
        job = self.settled("import torch; t = torch.empty(30 << 20); u = torch.empty(40 << 20)",
                           "torch.cuda._allocators[0].private = (0, 1); v = torch.empty(50 << 20); del t, v",
                           "torch.cuda._allocators[0].private = (0, 0)")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["cached_bytes"], a["returnable_bytes"]), (80 * MIB, 30 * MIB))
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 30 * MIB)

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
            # An old release tells only in a snapshot that there is history.
            self.assertEqual(job.do("torch.cuda.snapshots"), 1 if release < "2.1" else 0)

    def test_no_snapshot_of_very_many_blocks(self):
        job = self.settled("import torch, vramscope_probe as v; v._SNAPSHOT_MOST = 1e-9", "t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual(job.do("torch.cuda.snapshots"), 0)
        self.assertNotIn("largest_free_bytes", a)
        self.assertEqual(a["allocated_bytes"], 30 * MIB)

    def test_stuck_in_expandable_segments_is_unknown_without_a_snapshot(self):
        job = self.settled("import vramscope_probe as v; v._SNAPSHOT_MOST = 0", CHURN % 3,
                           PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        a = self.one(self.monitor(job))
        for unknown in ("fragmented_bytes", "cached_bytes", "returnable_bytes"):
            self.assertNotIn(unknown, a)

    def test_books_are_read_once_a_second(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = 3600", "import torch; t = torch.empty(30 << 20)")
        monitor = self.monitor(job)
        first = monitor.ask("stats")
        job.do("u = torch.empty(30 << 20)")
        self.assertEqual(monitor.ask("stats"), first)
        monitor.ask("flush", level="gradual")
        self.assertEqual(self.one(monitor)["allocated_bytes"], 60 * MIB, "anew after a flush")

    def test_a_library_that_fails_takes_nothing_along(self):
        job = self.settled("import torch; t = torch.empty(30 << 20)", "def boom(*a): raise MemoryError()",
                           VRAMSCOPE_PROBE_DEBUG="")
        monitor = self.monitor(job)
        job.do("torch.cuda.memory_stats_as_nested_dict = boom")
        self.assertEqual(monitor.ask("stats")["devices"], [])
        self.assertTrue(monitor.ask("flush", level="urgent")["ok"])
        self.assertEqual(job.end(), 0)
        self.assertEqual(job.said(), "")

    def test_while_the_program_works_on_many_threads(self):
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


class Flush(Case):
    def test_by_levels(self):
        job = self.job("import torch, vramscope_probe as v; cache = torch.empty(40 << 20); order = []",
                       "def evict():\n    global cache\n    cache = None; order.append('big')",
                       "v.register_evictable('big', 0, evict, lambda: 40 << 20) and None",
                       "v.register_evictable('broken', 1, lambda: 1 / 0) and None",
                       "v.register_evictable('first', 10, lambda: order.append('first'), 3) and None")
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("hello")["evictable"], [
            {"name": "first", "priority": 10, "bytes": 3}, {"name": "broken", "priority": 1},
            {"name": "big", "priority": 0, "bytes": 40 * MIB}])
        answer = monitor.ask("flush", level="gradual")
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
        self.assertIn("nothing", answer["skipped_reason"])
        said = monitor.ask("flush", level="selective", dry_run=True)["notes"]
        self.assertEqual(said, ["would empty first (3 B)", "would empty broken", "would empty big (40.0 MiB)"])
        self.assertEqual(job.do("order"), [])
        answer = monitor.ask("flush", level="selective")
        self.assertEqual(answer["devices"][0]["freed_bytes"], 40 * MIB)
        self.assertEqual(answer["notes"][:3], ["emptied first", "broken was not emptied: ZeroDivisionError: division by zero",
                                               "emptied big"])
        self.assertEqual(job.do("order"), ["first", "big"])
        self.assertEqual(job.do("v.unregister_evictable('big'), v.unregister_evictable('big')"), (True, False))
        self.assertIn("TypeError", job.do("v.register_evictable('x', 1, 5)"))
        self.assertIn("ValueError", job.do("v.register_evictable('x', float('nan'), print)"))

    def sizes(self, monitor):
        """What hello tells of caches, by their names."""
        return {one["name"]: one.get("bytes") for one in monitor.ask("hello")["evictable"]}

    def test_sizes(self):
        job = self.job("import torch, vramscope_probe as v; t = torch.empty(1, 1); asked = []; v._SIZES_TIME = v._SIZES_OLD = 3600.0",
                       "def register(name, size):\n    v.register_evictable(name, 0, lambda: None, size)",
                       "register('grows', lambda: asked.append(torch.cuda.current_device()) or len(asked))",
                       "register('none', None); register('told', 7); register('unknown', lambda: None)",
                       "register('raises', lambda: 1 / 0); register('exits', lambda: int('a'))",
                       "register('below', -1); register('beyond', 1 << 60); register('negative', lambda: -1)",
                       "register('real', lambda: 2.5); register('words', lambda: 'many')")
        monitor = self.monitor(job)
        told = dict.fromkeys(("none", "unknown", "raises", "exits", "below", "beyond", "negative", "words"))
        told.update(told=7, real=2, grows=1)
        until("the sizes", lambda: self.sizes(monitor) == told)
        self.assertEqual(self.sizes(self.monitor(job)), told)
        self.assertEqual(job.do("asked"), [1], "asked once, and not on GPU 0, where it could make a context")
        self.assertEqual(job.do("torch.cuda.contexts()"), [1])
        # What a flush has emptied is asked for again.
        self.assertTrue(monitor.ask("flush", level="selective")["ok"])
        until("the new size", lambda: self.sizes(monitor)["grows"] == 2)
        # So is what has been registered anew: the old one's size is nobody's.
        self.assertIsNone(job.do("register('grows', lambda: 3)"))
        self.assertIsNone(self.sizes(monitor)["grows"])
        self.assertIsNone(job.do("v._agent._sizes._due = 0.0"))
        until("the other's size", lambda: self.sizes(monitor)["grows"] == 3)
        # What is not due to be asked again is told; what should have been asked
        # again long ago, and was not, is not.
        self.assertIsNone(job.do("v._SIZES_OLD = 0.0"))
        self.assertEqual(self.sizes(monitor)["grows"], 3)
        self.assertIsNone(job.do("v._agent._sizes._asking, v._agent._sizes._due = True, 0.0"))
        self.assertEqual(self.sizes(monitor), dict(told, grows=None, real=None))

    def test_sizes_keep_nothing_alive(self):
        job = self.job("import gc, torch, weakref, vramscope_probe as v; t = torch.empty(1); v._SIZES_TIME = 3600.0",
                       "class Cache:\n    def clear(self): pass\n    def size(self): return 5",
                       "gc.disable(); cache = Cache(); kept = weakref.ref(cache)",
                       "v.register_evictable('cache', 0, cache.clear, cache.size) and None")
        monitor = self.monitor(job)
        until("the size", lambda: self.sizes(monitor)["cache"] == 5)
        until("its thread to be back", lambda: job.do("v._agent._sizes._asking") is False)
        # It would be the GPU's memory that stays.
        self.assertIsNone(job.do("cache = None; v.register_evictable('cache', 0, print) and None"))
        until("the cache to go", lambda: job.do("kept() is None"))

    def test_the_end_waits_for_a_size(self):
        # A thread that comes back from C code when the interpreter is gone takes the program down.
        job = self.job("import torch, time, vramscope_probe as v; t = torch.empty(1); v._LEAVE_TIME = 60.0; asked, told = [], []",
                       "def slow():\n    asked.append(1)\n    while not v._agent._sizes._leaving: time.sleep(.01)\n    time.sleep(.3); told.append(1); return 5",
                       "v.register_evictable('slow', 1, lambda: None, slow) and None",
                       "v.register_evictable('next', 0, lambda: None, lambda: told.append(2)) and None")
        self.sizes(self.monitor(job))
        until("the question", lambda: job.do("asked") == [1])
        self.assertIsNone(job.do("v._agent.leave()"))
        self.assertIsNone(job.do("v._LEAVE_TIME = 0.0"))  # it has left
        self.assertEqual(job.do("told"), [1], "what is asked is waited for, and nothing else is asked")
        self.assertEqual(job.end(), 0)

    def test_a_size_that_is_never_told(self):
        job = self.job("import torch, time, vramscope_probe as v; t = torch.empty(1); asked = []; v._SIZES_TIME, v._SIZES_OLD = 0.0, 3600.0",
                       "def hang():\n    asked.append(1); time.sleep(3600)",
                       "v.register_evictable('ready', 2, lambda: None, lambda: 5) and None",
                       "v.register_evictable('hangs', 1, lambda: None, hang) and None",
                       "v.register_evictable('behind', 0, lambda: None, lambda: 5) and None")
        monitor, other = self.monitor(job), self.monitor(job)
        until("the size before it", lambda: self.sizes(monitor)["ready"] == 5)
        for _ in range(20):
            self.assertEqual(self.sizes(other), {"ready": 5, "hangs": None, "behind": None})
            self.assertTrue(monitor.ask("stats")["ok"])
        self.assertEqual(job.do("asked"), [1], "nobody is asked again who has not answered")
        self.assertTrue(monitor.ask("flush", level="gradual")["ok"])
        self.assertEqual(job.end(), 0)

    def test_urgent_collects(self):
        job = self.job("import gc, torch, vramscope_probe as v; gc.disable(); stood = []", "class Node: pass",
                       "v.register_evictable('c', 1, lambda: stood.append(torch.cuda.current_device())) and None",
                       "n = Node(); n.self, n.tensor = n, torch.empty(40 << 20, 1); del n")
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 0)
        self.assertEqual(monitor.ask("flush", level="urgent")["devices"][0]["freed_bytes"], 40 * MIB)
        self.assertEqual(job.do("torch.backends.cuda.cufft_plan_cache.cleared"), [1])
        self.assertEqual(job.do("stood"), [1], "a callback on GPU 0 could make a context there")
        self.assertEqual(job.do("torch.cuda.contexts()"), [1])

    def test_during_a_capture(self):
        job = self.job("import torch; t = torch.empty(40 << 20); del t; torch.cuda.capturing = True")
        answer = self.monitor(job).ask("flush", level="gradual")
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
        self.assertIn("graph capture", answer["skipped_reason"])

    def test_what_may_be_kept(self):
        job = self.job("import torch; t = torch.empty(40 << 20); del t")
        monitor = self.monitor(job)
        answer = monitor.ask("flush", level="gradual", keep_bytes=40 * MIB)
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
        self.assertIn("no more than it may keep", answer["skipped_reason"])
        answer = monitor.ask("flush", level="gradual", keep_bytes=10 * MIB)
        self.assertEqual(answer["devices"][0]["freed_bytes"], 40 * MIB)
        self.assertIn("PyTorch cannot give back a part: all of its cache went", answer["notes"])

    def test_chosen_devices(self):
        job = self.job("import torch; t, u = torch.empty(40 << 20, 0), torch.empty(40 << 20, 1); del t, u")
        monitor = self.monitor(job)
        uuid = sorted(self.allocators(monitor))[1]
        answer = monitor.ask("flush", level="gradual", devices=[uuid])
        self.assertEqual([d["uuid"] for d in answer["devices"]], [uuid])
        self.assertIn("PyTorch flushes all its devices at once", answer["notes"])
        answer = monitor.ask("flush", level="gradual", devices=["GPU-0"])
        self.assertEqual(answer["devices"], [])
        self.assertIn("none of these", answer["skipped_reason"])


if __name__ == "__main__":
    unittest.main()
