"""The probe beside the preloaded library: nothing is counted twice, and nothing is left out.

The library's report is made up here; cli and scripts/reallibraries use the real library.
"""

import os
import unittest

from harness import DRIVER, GIB, MIB, Case

POOL = {"kind": "cuda_pool", "basis": "post_flush", "reserved_bytes": 90 * MIB, "allocated_bytes": 60 * MIB,
        "cached_bytes": 30 * MIB, "returnable_bytes": 30 * MIB, "out_of_memory_count": 1, "failed_allocations": 1}
JAX = {"bytes_in_use": 0, "peak_bytes_in_use": 0, "bytes_limit": 0}


def raw(size, failed=0, **more):
    return dict({"kind": "raw", "reserved_bytes": size, "allocated_bytes": size, "cached_bytes": 0, "fragmented_bytes": 0,
                 "returnable_bytes": 0, "segments": 1, "blocks": 1, "out_of_memory_count": failed,
                 "failed_allocations": failed}, **more)


@unittest.skipUnless(DRIVER, "no fake driver: VRAMSCOPE_FAKE_STATE is not set")
class Preloaded(Case):
    def uuid(self, ordinal):
        with open(os.environ["VRAMSCOPE_FAKE_STATE"]) as file:
            return [line.split()[1] for line in file if line.startswith("gpu ")][ordinal]

    def start(self, ordinal, *allocators, setup=(), **environ):
        """A job in which the library reports these allocators of one device, and a monitor of the job."""
        job = self.job("import vramscope_probe as v; v._STATS_TIME = -1e9; import json, types", *setup, **environ)
        self.report(job, ordinal, *allocators)
        return job, self.monitor(job)

    def report(self, job, ordinal, *allocators):
        native = {"time_ns": 1, "devices": [{"uuid": self.uuid(ordinal), "total_bytes": 80 * GIB, "allocators": allocators}]}
        job.do("native = json.dumps(%r).encode()" % native)
        job.do("def report(buffer, size): buffer.value = native; return len(native)")
        job.do("library = types.SimpleNamespace(vramscope_preload_report=report, vramscope_preload_yield=lambda: 0)")
        job.do("v._agent.memory.preloaded._library = library")
        job.do("import ctypes; v._agent.memory.preloaded._buffer = ctypes.create_string_buffer(1 << 18)")
        job.do("v._agent.memory._report = None")  # the next request reads the stats

    def kinds(self, monitor):
        return {uuid: {a["kind"]: a for a in allocators} for uuid, allocators in self.allocators(monitor).items()}

    def test_devices_that_no_library_reports(self):
        job, monitor = self.start(0, raw(70 * MIB, failed=2), dict(POOL, handle=7), setup=[
            "import torch; torch.cuda.set_device(0); torch.zeros_on = torch.cuda.current_device()",
            "torch.cuda.get_allocator_backend = lambda: 'pluggable'"])
        found = self.kinds(monitor)[self.uuid(0)]
        self.assertEqual(found["raw"]["allocated_bytes"], 70 * MIB)
        self.assertEqual(found["raw"]["out_of_memory_count"], 2, "no library tries again")
        self.assertEqual((found["cuda_pool"]["cached_bytes"], found["cuda_pool"]["returnable_bytes"]), (30 * MIB, 0))
        answer = monitor.ask("flush", level="gradual")
        self.assertEqual(answer["devices"][0]["freed_bytes"], 0, answer)
        self.assertIn("nothing that a flush frees", answer["skipped_reason"])

    def test_memory_outside_of_pytorch(self):
        job, monitor = self.start(0, setup=["import torch; t = torch.empty(30 << 20)"])
        (held,) = self.allocators(monitor)[self.uuid(0)]
        graph = {"kind": "cuda_graph", "basis": "post_flush", "reserved_bytes": 8 * MIB, "allocated_bytes": 8 * MIB,
                 "cached_bytes": 0, "returnable_bytes": 0}
        self.report(job, 0, raw(held["reserved_bytes"] + 5 * MIB, failed=6), dict(POOL, handle=7), graph)
        found = self.kinds(monitor)[self.uuid(0)]
        self.assertEqual(found["pytorch"], held)
        self.assertEqual((found["raw"]["allocated_bytes"], found["raw"]["failed_allocations"]), (5 * MIB, 6))
        for kind in ("raw", "cuda_pool"):
            self.assertNotIn("out_of_memory_count", found[kind], "PyTorch counts its own, and tries again")
        self.assertEqual(found["cuda_pool"]["returnable_bytes"], 0, "a flush of this probe does not trim it")
        self.assertEqual(found["cuda_graph"]["allocated_bytes"], 8 * MIB)
        before = sum(a.get("returnable_bytes", 0) for a in found.values())
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], before)

    def test_no_more_allocators_than_a_monitor_accepts(self):
        _, monitor = self.start(0, raw(70 * MIB), *[dict(POOL, handle=n) for n in range(1, 90)],
                                setup=["import torch; t = torch.empty(30 << 20)"])
        (allocators,) = self.allocators(monitor).values()
        self.assertEqual([a["kind"] for a in allocators], ["pytorch", "raw"] + ["cuda_pool"] * 62)

    def jax(self, stats, *allocators, **environ):
        setup = ["import jax; devices = jax.local_devices()",
                 "jax._src.xla_bridge.GPU.memory_stats = lambda self: %r" % stats]
        return self.start(1, *allocators, setup=setup, **environ)

    def test_jax_without_an_allocator(self):
        """With the platform allocator older releases of JAX have no stats, and only the library's are reported."""
        _, monitor = self.jax(None, raw(70 * MIB, failed=1), XLA_PYTHON_CLIENT_ALLOCATOR="platform")
        (found,) = self.allocators(monitor)[self.uuid(1)]
        self.assertEqual((found["kind"], found["allocated_bytes"]), ("raw", 70 * MIB))

    def test_jax_that_does_not_count_its_largest_free_block(self):
        stats = dict(JAX, bytes_in_use=10 * GIB, pool_bytes=60 * GIB, largest_free_block_bytes=0)
        _, monitor = self.jax(stats, raw(61 * GIB, failed=5), XLA_PYTHON_CLIENT_PREALLOCATE="false")
        found = self.kinds(monitor)[self.uuid(1)]
        self.assertEqual((found["jax"]["cached_bytes"], found["jax"]["returnable_bytes"]), (50 * GIB, 0))
        self.assertNotIn("fragmented_bytes", found["jax"])
        self.assertEqual(found["jax"]["config"], "XLA_PYTHON_CLIENT_PREALLOCATE=false")
        self.assertEqual(found["raw"]["allocated_bytes"], GIB)
        self.assertNotIn("out_of_memory_count", found["raw"], "JAX asks for less after a call that failed")

    def test_jax_on_cuda_malloc_async(self):
        """JAX's memory is in the default CUDA pool, which the library reports, too."""
        job, monitor = self.jax(dict(JAX, bytes_in_use=60 * MIB), XLA_PYTHON_CLIENT_ALLOCATOR="cuda_async")
        handle = job.do("v._agent.memory._driver.default_pool(1)")
        self.assertTrue(handle)
        job.do("v._agent.memory._driver.pool = lambda handle: (60 << 20, 90 << 20)")
        self.report(job, 1, raw(0), dict(POOL, handle=handle))
        found = self.kinds(monitor)[self.uuid(1)]
        self.assertEqual(sorted(found), ["jax", "raw"])
        self.assertEqual((found["jax"]["reserved_bytes"], found["jax"]["allocated_bytes"]), (90 * MIB, 60 * MIB))
        self.assertEqual((found["jax"]["cached_bytes"], found["jax"]["returnable_bytes"]), (30 * MIB, 0))
        answer = monitor.ask("flush", level="urgent")
        self.assertEqual(answer["error"]["message"], "JAX cannot free cached memory")

    def test_tensorflow_with_what_it_reserves(self):
        """TensorFlow reports what it allocates. What it reserves follows from the library that asked the driver for it."""
        by = [{"library": "libtensorflow_cc.so.2", "bytes": 20 * GIB}, {"library": "libother.so", "bytes": GIB}]
        _, monitor = self.start(1, raw(21 * GIB, libraries=by), setup=[
            "import tensorflow; tensorflow.context.ensure_initialized()"])
        found = self.kinds(monitor)[self.uuid(1)]
        self.assertEqual((found["tensorflow"]["reserved_bytes"], found["tensorflow"]["cached_bytes"]), (20 * GIB, 17 * GIB))
        self.assertNotIn("fragmented_bytes", found["tensorflow"])
        self.assertEqual(found["raw"]["allocated_bytes"], GIB)

    def test_tensorflow_whose_library_is_unknown(self):
        """On arm64, and before glibc 2.35, the library names the CUDA runtime instead of TensorFlow's file."""
        setup = ["import tensorflow; tensorflow.context.ensure_initialized()",
                 "tensorflow.config.experimental.get_memory_info = lambda device: {'current': 0, 'peak': 0}"]
        for by in {"libraries": [{"library": "libcudart.so.12", "bytes": GIB}]}, {}:
            _, monitor = self.start(1, raw(GIB, **by), setup=setup)
            found = self.kinds(monitor)[self.uuid(1)]
            self.assertEqual(found["tensorflow"]["allocated_bytes"], 0)
            self.assertNotIn("reserved_bytes", found["tensorflow"])
            self.assertNotIn("cached_bytes", found["tensorflow"])

    def test_tensorflow_on_cuda_malloc_async(self):
        job, monitor = self.start(1, setup=["import tensorflow; tensorflow.context.ensure_initialized()"],
                                  TF_GPU_ALLOCATOR="cuda_malloc_async")
        handle = job.do("v._agent.memory._driver.default_pool(1)")
        job.do("v._agent.memory._driver.pool = lambda handle: (60 << 20, 90 << 20)")
        self.report(job, 1, raw(0), dict(POOL, handle=handle))
        found = self.kinds(monitor)[self.uuid(1)]
        self.assertEqual((found["tensorflow"]["allocated_bytes"], found["tensorflow"]["reserved_bytes"]), (60 * MIB, 90 * MIB))
        self.assertEqual(found["tensorflow"]["config"], "TF_GPU_ALLOCATOR=cuda_malloc_async")
        job.do("tensorflow.config.experimental.get_memory_growth = lambda device: True")
        job.do("v._agent.memory._report = None")
        self.assertEqual(self.kinds(monitor)[self.uuid(1)]["tensorflow"]["config"],
                         "TF_GPU_ALLOCATOR=cuda_malloc_async memory_growth=True")
        self.assertNotIn("cuda_pool", found)


if __name__ == "__main__":
    unittest.main()
