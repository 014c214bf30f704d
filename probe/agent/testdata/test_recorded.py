"""Replays what real releases of PyTorch, JAX and TensorFlow answered, and checks the probe's report. The stand-ins
must answer the same.

recorded/ is written by scripts/real-libraries --record.
"""

import glob
import json
import os
import subprocess
import sys
import types
import unittest

from harness import AGENT, DRIVER, HERE, TIMEOUT, Case

sys.path.insert(0, AGENT)
import vramscope_probe as probe  # noqa: E402

SETTINGS = {
    "native": {}, "expandable": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "async": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"}, "uncached": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
}


def recordings(*kinds, library="torch"):
    """(name, kind, content) of each file of these kinds."""
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "recorded", library + "-*.json"))):
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

    def mapped(self, address):
        return True


def module(recording, moment):
    """Returns a torch that answers as the recorded one did at a moment."""
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
                    self.assertEqual(a["segments"], len(segments))
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
                    self.assertEqual(freed, a["returnable_bytes"])

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


class Others(Case):
    """JAX and TensorFlow."""

    def test_jax(self):
        for name, _, recording in recordings("default", "growing", "platform", library="jax"):
            for moment in ("filled", "freed"):
                with self.subTest(name, moment=moment):
                    stats = recording[moment]
                    a = probe._JAX(Driver())._allocator(stats)
                    self.assertEqual((a["reserved_bytes"], a["allocated_bytes"]), (stats["pool_bytes"], stats["bytes_in_use"]))
                    self.assertEqual((a["peak_reserved_bytes"], a["peak_allocated_bytes"]),
                                     (stats["peak_pool_bytes"], stats["peak_bytes_in_use"]))
                    self.assertEqual(a["returnable_bytes"], 0)
                    parts = [a.get(part + "_bytes", 0) for part in ("allocated", "cached", "fragmented")]
                    self.assertEqual(sum(parts), a["reserved_bytes"])
                    if a["cached_bytes"]:  # this release does not report the largest free block
                        self.assertNotIn("fragmented_bytes", a)

    def test_jax_on_the_drivers_pool(self):
        for name, _, recording in recordings("async", library="jax"):
            with self.subTest(name):
                a = probe._JAX(Driver())._allocator(recording["freed"])
                self.assertEqual(a["allocated_bytes"], recording["freed"]["bytes_in_use"])
                self.assertNotIn("reserved_bytes", a, "the stats have no size of the pool")

    def test_tensorflow(self):
        for name, _, recording in recordings(library="tensorflow"):
            with self.subTest(name):
                device, then = types.SimpleNamespace(name=recording["visible"][0]), recording["freed"]
                self.module("tensorflow", config=types.SimpleNamespace(
                    get_visible_devices=lambda kind: [device], list_logical_devices=lambda kind: recording["logical"],
                    experimental=types.SimpleNamespace(get_memory_info=lambda name: then)))
                self.module("tensorflow.python.eager.context",
                            _context=types.SimpleNamespace(_initialized=recording["initialized"]))
                ((ordinal, a),) = probe._TensorFlow(Driver()).stats()
                self.assertEqual((ordinal, a["kind"], a["allocated_bytes"], a["peak_allocated_bytes"]),
                                 (0, "tensorflow", then["current"], then["peak"]))

    def module(self, name, **content):
        sys.modules[name] = types.SimpleNamespace(**content)
        self.addCleanup(sys.modules.pop, name, None)

    @unittest.skipUnless(DRIVER, "no fake driver: VRAMSCOPE_FAKE_STATE is not set")
    def test_the_stand_ins_have_the_same_keys(self):
        for library, figures in (("jax", "jax.local_devices()[0].memory_stats()"),
                                 ("tensorflow", "tensorflow.config.experimental.get_memory_info('GPU:0')")):
            program = "import json, %s; print(json.dumps(%s))" % (library, figures)
            out = subprocess.check_output([sys.executable, "-B", "-c", program], timeout=TIMEOUT,
                                          env=dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake")))
            for name, _, recording in recordings("default", library=library):
                with self.subTest(name):
                    self.assertEqual(sorted(json.loads(out)), sorted(recording["filled"]))


def same(real, ours, path=()):
    """Where two recordings differ."""
    if isinstance(real, dict) and isinstance(ours, dict):
        if real.get("raises") == ours.get("raises") == ["AttributeError", "Exception"]:
            return []  # the message names the class of the module
        free = real.get("state") == "inactive"  # a free block's requested_size is that of an earlier allocation
        return [d for key in sorted(set(real) | set(ours)) if not (free and key == "requested_size")
                for d in same(real.get(key, "absent"), ours.get(key, "absent"), path + (key,))]
    if isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        return [d for n, pair in enumerate(zip(real, ours)) for d in same(*pair, path=path + (n,))]
    if type(real) is type(ours) and real == ours:
        return []
    return ["%s: %r, and the stand-in %r" % (".".join(map(str, path)), real, ours)]


@unittest.skipUnless(DRIVER, "no fake driver: VRAMSCOPE_FAKE_STATE is not set")
class StandIn(Case):
    maxDiff = None

    def test_it_answers_as_the_real_one(self):
        for name, kind, recording in recordings():
            with self.subTest(name):
                environ = dict(os.environ, PYTHONPATH=os.path.join(HERE, "fake"), FAKE_TORCH_DRIVER="1", CUDA_VISIBLE_DEVICES="0",
                               FAKE_TORCH_VERSION=recording["release"], **SETTINGS[kind])
                done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "record_torch.py")], env=environ,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, universal_newlines=True)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(same(recording, json.loads(done.stdout)), [])


if __name__ == "__main__":
    unittest.main()
