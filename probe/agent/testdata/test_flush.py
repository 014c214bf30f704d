"""What a flush frees, and the caches that the program registers for it."""

import unittest

from harness import MIB, Case, until


class Flush(Case):
    def test_flush_levels(self):
        job = self.job("import torch, vramscope_probe as v; cache = torch.empty(40 << 20); order = []",
                       "def evict():\n    global cache\n    cache = None; order.append('big')",
                       "v.register_evictable('big', 0, evict, lambda: 40 << 20) and None",
                       "v.register_evictable('broken', 1, lambda: 1 / 0) and None",
                       "v.register_evictable('first', 10, lambda: order.append('first'), 3) and None")
        monitor = self.monitor(job)
        # A thread asks for the sizes, and hello does not wait for it long.
        until("the sizes", lambda: monitor.ask("hello")["evictable"] == [
            {"name": "first", "priority": 10, "bytes": 3}, {"name": "broken", "priority": 1},
            {"name": "big", "priority": 0, "bytes": 40 * MIB}])
        answer = monitor.ask("flush", level="gradual")
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
        self.assertIn("nothing", answer["skipped_reason"])
        notes = monitor.ask("flush", level="selective", dry_run=True)["notes"]
        self.assertEqual(notes, ["would empty first (3 B)", "would empty broken", "would empty big (40.0 MiB)"])
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
        """The caches' sizes in hello, by name."""
        return {one["name"]: one.get("bytes") for one in monitor.ask("hello")["evictable"]}

    def test_sizes(self):
        job = self.job("import torch, vramscope_probe as v; t = torch.empty(1, 1); asked = []; v._SIZES_TIME = v._SIZES_MAX_AGE = 3600.0",
                       "def register(name, size):\n    v.register_evictable(name, 0, lambda: None, size)",
                       "register('grows', lambda: asked.append(torch.cuda.current_device()) or len(asked))",
                       "register('none', None); register('constant', 7); register('unknown', lambda: None)",
                       "register('raises', lambda: 1 / 0); register('exits', lambda: int('a'))",
                       "register('below', -1); register('beyond', 1 << 60); register('negative', lambda: -1)",
                       "register('real', lambda: 2.5); register('words', lambda: 'many')")
        monitor = self.monitor(job)
        expected = dict.fromkeys(("none", "unknown", "raises", "exits", "below", "beyond", "negative", "words"))
        expected.update(constant=7, real=2, grows=1)
        until("the sizes", lambda: self.sizes(monitor) == expected)
        self.assertEqual(self.sizes(self.monitor(job)), expected)
        self.assertEqual(job.do("asked"), [1], "called once, and not on GPU 0, where it could make a context")
        self.assertEqual(job.do("torch.cuda.contexts()"), [1])
        # Sizes are read again after a flush.
        self.assertTrue(monitor.ask("flush", level="selective")["ok"])
        until("the new size", lambda: self.sizes(monitor)["grows"] == 2)
        # A new registration does not inherit the old size.
        self.assertIsNone(job.do("register('grows', lambda: 3)"))
        self.assertIsNone(self.sizes(monitor)["grows"])
        self.assertIsNone(job.do("v._agent.commands.sizes._due = 0.0"))
        until("the size of the new registration", lambda: self.sizes(monitor)["grows"] == 3)
        # A size is reported until its next call is due, and for _SIZES_MAX_AGE after that.
        self.assertIsNone(job.do("v._SIZES_MAX_AGE = 0.0"))
        self.assertEqual(self.sizes(monitor)["grows"], 3)
        self.assertIsNone(job.do("v._agent.commands.sizes._asking, v._agent.commands.sizes._due = True, 0.0"))
        self.assertEqual(self.sizes(monitor), dict(expected, grows=None, real=None))

    def test_sizes_keep_nothing_alive(self):
        job = self.job("import gc, torch, weakref, vramscope_probe as v; t = torch.empty(1); v._SIZES_TIME = 3600.0",
                       "class Cache:\n    def clear(self): pass\n    def size(self): return 5",
                       "gc.disable(); cache = Cache(); kept = weakref.ref(cache)",
                       "v.register_evictable('cache', 0, cache.clear, cache.size) and None")
        monitor = self.monitor(job)
        until("the size", lambda: self.sizes(monitor)["cache"] == 5)
        until("its thread to return", lambda: job.do("v._agent.commands.sizes._asking") is False)
        # A cache that stays alive keeps its GPU memory.
        self.assertIsNone(job.do("cache = None; v.register_evictable('cache', 0, print) and None"))
        until("the cache to be collected", lambda: job.do("kept() is None"))

    def test_exit_waits_for_a_size(self):
        # A thread that returns from C code to a finalised interpreter could crash the program.
        job = self.job("import torch, time, vramscope_probe as v; t = torch.empty(1); v._STOP_TIME = 60.0; asked, done = [], []",
                       "def slow():\n    asked.append(1)\n    while not v._agent.commands.sizes._stopping: time.sleep(.01)\n    time.sleep(.3); done.append(1); return 5",
                       "v.register_evictable('slow', 1, lambda: None, slow) and None",
                       "v.register_evictable('next', 0, lambda: None, lambda: done.append(2)) and None")
        self.sizes(self.monitor(job))
        until("the call", lambda: job.do("asked") == [1])
        self.assertIsNone(job.do("v._agent.stop()"))
        self.assertIsNone(job.do("v._STOP_TIME = 0.0"))  # it has stopped
        self.assertEqual(job.do("done"), [1], "exit waits for a running call and starts no other")
        self.assertEqual(job.end(), 0)

    def test_a_size_function_that_hangs(self):
        job = self.job("import torch, time, vramscope_probe as v; t = torch.empty(1); asked = []; v._SIZES_TIME, v._SIZES_MAX_AGE = 0.0, 3600.0",
                       "def hang():\n    asked.append(1); time.sleep(3600)",
                       "v.register_evictable('ready', 2, lambda: None, lambda: 5) and None",
                       "v.register_evictable('hangs', 1, lambda: None, hang) and None",
                       "v.register_evictable('behind', 0, lambda: None, lambda: 5) and None")
        monitor, other = self.monitor(job), self.monitor(job)
        until("the size of the cache before it", lambda: self.sizes(monitor)["ready"] == 5)
        for _ in range(20):
            self.assertEqual(self.sizes(other), {"ready": 5, "hangs": None, "behind": None})
            self.assertTrue(monitor.ask("stats")["ok"])
        self.assertEqual(job.do("asked"), [1], "a call that has not returned is not repeated")
        self.assertTrue(monitor.ask("flush", level="gradual")["ok"])
        self.assertEqual(job.end(), 0)

    def test_urgent_flush_collects_garbage(self):
        job = self.job("import gc, torch, vramscope_probe as v; gc.disable(); current = []", "class Node: pass",
                       "v.register_evictable('c', 1, lambda: current.append(torch.cuda.current_device())) and None",
                       "n = Node(); n.self, n.tensor = n, torch.empty(40 << 20, 1); del n")
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 0)
        flushed = monitor.ask("flush", level="urgent")["devices"][0]
        self.assertEqual((flushed["freed_bytes"], flushed["collected_bytes"]), (40 * MIB, 40 * MIB))
        self.assertEqual(job.do("torch.backends.cuda.cufft_plan_cache.cleared"), [1])
        self.assertEqual(job.do("current"), [1], "a callback on GPU 0 could make a context there")
        self.assertEqual(job.do("torch.cuda.contexts()"), [1])
        self.assertEqual(monitor.ask("flush", level="urgent")["devices"][0]["collected_bytes"], 0)
        self.assertNotIn("collected_bytes", monitor.ask("flush", level="selective")["devices"][0])

    def test_what_the_collection_freed_is_unknown_beside_another_thread(self):
        """The other thread allocates, or only frees, during the collection; or an optimizer makes steps."""
        thread = "import threading\ndef beside(work):\n t = threading.Thread(target=work); t.start(); t.join()"
        allocates = "gc.callbacks.append(lambda phase, _: phase == 'stop' and beside(lambda: other.append(torch.empty(1 << 20, 1))))"
        frees = "sleep = v._sleep; v._sleep = lambda s: (other and beside(other.pop), sleep(s))"
        steps = "import torch.optim as o; a = o.Optimizer(); v._STATS_TIME = -1e9"
        for case in (allocates, frees, steps):
            with self.subTest(case):
                job = self.job("import gc, torch, vramscope_probe as v; gc.disable(); other = [torch.empty(1 << 20, 1) for _ in range(9)]",
                               "class Node: pass", thread, case, "n = Node(); n.self, n.tensor = n, torch.empty(40 << 20, 1); del n")
                monitor = self.monitor(job)
                monitor.ask("stats")  # registers the hook
                if case is steps:
                    job.do("a.step()")
                flushed = monitor.ask("flush", level="urgent")["devices"][0]
                self.assertNotIn("collected_bytes", flushed)
                self.assertGreaterEqual(flushed["freed_bytes"], 40 * MIB)
        job.do("v._steps._IDLE_TIME = -1.0")
        self.assertEqual(monitor.ask("flush", level="urgent")["devices"][0]["collected_bytes"], 0)

    def test_what_the_collection_freed_is_unknown_without_counters(self):
        job = self.job("import torch, vramscope_probe as v; t = torch.empty(40 << 20)", "stats = torch.cuda.memory_stats_as_nested_dict",
                       "def few(d):\n return dict(stats(d), allocation={})\ntorch.cuda.memory_stats_as_nested_dict = few")
        self.assertNotIn("collected_bytes", self.monitor(job).ask("flush", level="urgent")["devices"][0])

    def test_no_flush_during_a_graph_capture(self):
        for release, reason in (("2.6.0", "a graph capture was running: PyTorch refused"),
                                ("2.8.0", "a graph capture was running: PyTorch frees nothing meanwhile")):
            job = self.job("import torch; t = torch.empty(40 << 20); del t; torch.cuda.capturing = True",
                           FAKE_TORCH_VERSION=release)
            answer = self.monitor(job).ask("flush", level="gradual")
            self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
            self.assertEqual(answer["skipped_reason"], reason)

    def test_a_flush_beside_a_graph_capture_in_another_thread(self):
        job = self.job("import torch; t = torch.empty(40 << 20); del t; torch.cuda.capturing = True",
                       FAKE_TORCH_VERSION="2.15.0")
        answer = self.monitor(job).ask("flush", level="gradual")
        self.assertEqual((answer["devices"][0]["freed_bytes"], answer.get("skipped_reason")), (40 * MIB, None))

    def test_a_graph_capture_on_one_of_two_gpus(self):
        job = self.job("import torch; t, u = torch.empty(40 << 20, 0), torch.empty(50 << 20, 1); del t, u",
                       "torch.cuda._allocators[1].capturing = True", FAKE_TORCH_VERSION="2.8.0")
        answer = self.monitor(job).ask("flush", level="gradual")
        self.assertEqual(sorted(d["freed_bytes"] for d in answer["devices"]), [0, 40 * MIB])
        self.assertIn("a graph capture was running on 1 of 2 GPUs", answer["skipped_reason"])

    def test_keep_bytes(self):
        job = self.job("import torch; t = torch.empty(40 << 20); del t")
        monitor = self.monitor(job)
        answer = monitor.ask("flush", level="gradual", keep_bytes=40 * MIB)
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0)
        self.assertIn("no larger than keep_bytes", answer["skipped_reason"])
        answer = monitor.ask("flush", level="gradual", keep_bytes=10 * MIB)
        self.assertEqual(answer["devices"][0]["freed_bytes"], 40 * MIB)
        self.assertIn("PyTorch frees all of its cache or nothing: keep_bytes was ignored", answer["notes"])

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
