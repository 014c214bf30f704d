"""The probe's report of what real releases of PyTorch answered.

recorded/ is written by scripts/real-libraries --record.
"""

import glob
import json
import os
import sys
import types
import unittest

from harness import AGENT, HERE, Case

sys.path.insert(0, AGENT)
import vramscope_probe as probe  # noqa: E402

def recordings(*kinds):
    """(name, kind, content) of each file of these kinds."""
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "recorded", "torch-*.json"))):
        name = os.path.basename(path)[:-len(".json")]
        kind = name.rpartition("-")[2]
        if not kinds or kind in kinds:
            with open(path) as file:
                found.append((name, kind, json.load(file)))
    return found


def figure(stats, key, which="current"):
    return stats[key]["all"][which]


class Driver:
    """A libcuda that knows one device, and no pool."""

    def in_use(self):
        return [0]

    def default_pool(self, ordinal):
        return None


def module(recording, moment):
    """A torch that answers as one did at a moment."""
    def answering(call):
        def answer():
            if "raises" in call:
                raise RuntimeError(call["message"])
            return call["returns"]
        return answer

    calls, then = recording["calls"], recording[moment]
    history = calls["_cuda_isHistoryEnabled" + (", recorded" if moment == "recorded" else "")]
    core = types.SimpleNamespace(_cuda_isHistoryEnabled=answering(history))
    if "returns" in calls["_accelerator_getAllocatorSettings"]:  # since 2.10
        core._accelerator_getAllocatorSettings = answering(calls["_accelerator_getAllocatorSettings"])
    return types.SimpleNamespace(
        __version__=recording["release"], version=types.SimpleNamespace(hip=None), _C=core,
        cuda=types.SimpleNamespace(
            is_initialized=lambda: True, device_count=lambda: 1,
            get_allocator_backend=answering(calls["get_allocator_backend"]),
            memory_stats_as_nested_dict=lambda device: then["memory_stats"],
            memory=types.SimpleNamespace(_snapshot=answering(then["snapshot"])),
        ),
    )


class Replayed(Case):
    def replay(self, recording, moment):
        """The allocators that the probe reports."""
        sys.modules["torch"] = module(recording, moment)
        self.addCleanup(sys.modules.pop, "torch", None)
        return [allocator for _, allocator in probe._PyTorch(Driver()).stats()]

    def test_report(self):
        for name, kind, recording in recordings("native", "expandable"):
            for moment in ("filled", "pending", "recorded"):
                with self.subTest(name, moment=moment):
                    stats, (a,) = recording[moment]["memory_stats"], self.replay(recording, moment)
                    for ours, theirs, which in (
                        ("reserved_bytes", "reserved_bytes", "current"), ("peak_reserved_bytes", "reserved_bytes", "peak"),
                        ("allocated_bytes", "active_bytes", "current"), ("peak_allocated_bytes", "active_bytes", "peak"),
                        ("blocks", "active", "current"),
                    ):
                        self.assertEqual(a[ours], figure(stats, theirs, which), ours)
                    self.assertEqual(a["pending_bytes"], figure(stats, "active_bytes") - figure(stats, "allocated_bytes"))
                    self.assertEqual((a["out_of_memory_count"], a["alloc_retries"]), (stats["num_ooms"], stats["num_alloc_retries"]))
                    self.assertEqual([p["reserved_bytes"] for p in a["pools"]],
                                     [stats["reserved_bytes"][p["name"] + "_pool"]["current"] for p in a["pools"]])
                    if moment == "recorded":
                        self.assertNotIn("largest_free_bytes", a, "with history no snapshot is taken")
                        continue
                    segments = recording[moment]["snapshot"]["returns"]["segments"]
                    free = [b["size"] for s in segments for b in s["blocks"] if b["state"] == "inactive"]
                    self.assertEqual(a["largest_free_bytes"], max(free))
                    self.assertEqual(a["cached_bytes"] + a["fragmented_bytes"], sum(free))

    def test_a_flush_frees_what_is_returnable(self):
        for name, kind, recording in recordings("native", "expandable"):
            for moment, after in (("filled", "flushed"), ("pending", "flushed with pending")):
                with self.subTest(name, moment=moment):
                    (a,) = self.replay(recording, moment)
                    freed = a["reserved_bytes"] - figure(recording[after], "reserved_bytes")
                    self.assertGreater(freed, 0)
                    if moment == "filled":
                        self.assertEqual(freed, a["returnable_bytes"])
                    else:  # it waits for what is pending, too
                        self.assertLessEqual(a["returnable_bytes"], freed)
                        self.assertLessEqual(freed, a["returnable_bytes"] + a["pending_bytes"] + a["fragmented_bytes"])

    def test_cuda_malloc_async(self):
        for name, kind, recording in recordings("async"):
            with self.subTest(name):
                stats, (a,) = recording["filled"]["memory_stats"], self.replay(recording, "filled")
                self.assertEqual((a["kind"], a["basis"]), ("cuda_pool", "post_flush"))
                self.assertEqual((a["reserved_bytes"], a["allocated_bytes"]),
                                 (figure(stats, "reserved_bytes"), figure(stats, "allocated_bytes")))
                self.assertIn("cudaMallocAsync, which does not report its blocks", probe._PyTorch(Driver()).no_snapshot())

    def test_nothing_is_cached(self):
        for name, kind, recording in recordings("uncached"):
            with self.subTest(name):
                self.assertEqual(self.replay(recording, "filled"), [])


if __name__ == "__main__":
    unittest.main()
