"""Runtimes on the fake driver: UUIDs, cudaMallocAsync, CuPy, JAX, TensorFlow, RMM."""

import os
import unittest

from harness import DRIVER, GIB, MIB, Case, until


@unittest.skipUnless(DRIVER, "no fake driver: VRAMSCOPE_FAKE_STATE is not set")
class Runtimes(Case):
    def devices(self, monitor):
        return {d["uuid"]: d for d in monitor.ask("stats")["devices"]}

    def uuid(self, ordinal):
        """The UUID in the fake driver's state file."""
        with open(os.environ["VRAMSCOPE_FAKE_STATE"]) as file:
            return [line.split()[1] for line in file if line.startswith("gpu ")][ordinal]

    def test_uuids_are_the_drivers(self):
        job = self.job("import torch; t = torch.empty(30 << 20, 1)", CUDA_VISIBLE_DEVICES="1,0")
        (device,) = self.monitor(job).ask("stats")["devices"]
        self.assertEqual(device["uuid"], self.uuid(0), "CUDA_VISIBLE_DEVICES reverses the order")
        self.assertGreater(device["total_bytes"], 79 * GIB)
        self.assertEqual(device["allocators"][0]["allocated_bytes"], 30 * MIB)

    def test_cuda_malloc_async(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = -1e9", "import torch; torch.cuda.set_device(1)",
                       "t = [torch.empty(40 << 20, 1) for _ in range(5)]; del t[1:4]",
                       "assert torch.cuda._devices[1].cuda.cuCtxSynchronize() == 0",
                       PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual((a["kind"], a["basis"], a["allocated_bytes"]), ("cuda_pool", "post_flush", 80 * MIB))
        self.assertNotIn("fragmented_bytes", a)
        self.assertGreaterEqual(a["returnable_bytes"], 120 * MIB)
        self.assertEqual((a["peak_allocated_bytes"], a["peak_reserved_bytes"]), (200 * MIB, a["reserved_bytes"]))
        self.assertEqual(a["config"], "backend:cudaMallocAsync")
        self.assertEqual(monitor.ask("hello")["capabilities"], ["flush"], "its blocks are unknown")
        # The flush leaves keep_bytes of the cache.
        part = monitor.ask("flush", level="gradual", keep_bytes=70 * MIB)["devices"][0]
        self.assertGreaterEqual(part["after_bytes"], 150 * MIB)
        self.assertGreater(part["freed_bytes"], 0)
        self.assertNotIn("fragmented_bytes", self.one(monitor))
        job.do("torch.cuda.capturing = True")
        answer = monitor.ask("flush", level="gradual")
        self.assertIn("graph capture", answer["skipped_reason"])
        job.do("torch.cuda.capturing = False")
        freed = part["freed_bytes"] + monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"]
        after = self.one(monitor)
        self.assertEqual(after["reserved_bytes"], a["reserved_bytes"] - freed)
        self.assertEqual(after["fragmented_bytes"], after["reserved_bytes"] - 80 * MIB)
        self.assertEqual(job.do("torch.cuda.contexts()"), [1])

    def test_cupy(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = -1e9",
                       "import cupy.cuda; cupy.cuda.Device(1).use(); pool = cupy.cuda.default_pool",
                       "pool.malloc(10 << 20, 10 << 20); pool.malloc(20 << 20, 1 << 20); pool.malloc(40 << 20, 0)")
        monitor = self.monitor(job)
        self.assertEqual(monitor.ask("hello")["runtimes"], [{"name": "CuPy", "version": "13.3.0"}])
        a = self.one(monitor)
        self.assertEqual((a["kind"], a["reserved_bytes"], a["allocated_bytes"]), ("cupy", 70 * MIB, 11 * MIB))
        self.assertNotIn("fragmented_bytes", a)
        self.assertEqual(monitor.ask("flush", level="gradual")["devices"][0]["freed_bytes"], 40 * MIB)
        a = self.one(monitor)
        self.assertEqual((a["fragmented_bytes"], a["cached_bytes"], a["returnable_bytes"]), (19 * MIB, 0, 0))
        self.assertEqual(job.do("sorted(cupy.cuda.entered)"), [1], "a context was made on an unused GPU")

    def test_cupys_pool_in_use(self):
        job = self.job("import cupy.cuda; cupy.cuda.Device(0).use(); own = cupy.cuda.MemoryPool()",
                       "cupy.cuda.set_allocator(own.malloc); own.malloc(30 << 20, 30 << 20)")
        self.assertEqual(self.one(self.monitor(job))["allocated_bytes"], 30 * MIB)

    def test_jax(self):
        job = self.job("import jax, time")
        until("the thread", lambda: "vramscope" in job.threads())
        job.do("time.sleep(1.5)")
        self.assertFalse(job.do("jax._src.xla_bridge.backends_are_initialized()"), "the probe must not initialise JAX")
        self.assertEqual(job.sockets(), [])
        self.assertIsNone(job.do("jax.local_devices() and None"))
        monitor = self.monitor(job)
        a = self.one(monitor)
        self.assertEqual(list(self.allocators(monitor)), [self.uuid(1)])
        self.assertEqual((a["kind"], a["basis"], a["cached_bytes"], a["fragmented_bytes"], a["returnable_bytes"]),
                         ("jax", "largest_free", 45 * GIB, 5 * GIB, 0))
        self.assertEqual((a["peak_reserved_bytes"], a["peak_allocated_bytes"]), (60 * GIB, 12 * GIB))
        self.assertEqual(monitor.ask("hello")["capabilities"], [])
        answer = monitor.ask("flush", level="urgent")
        self.assertEqual(answer["error"], {"code": "unsupported", "message": "JAX cannot free cached memory"})

    def test_tensorflow(self):
        job = self.job("import tensorflow, time")
        until("the thread", lambda: "vramscope" in job.threads())
        job.do("time.sleep(1.5)")
        self.assertIsNone(job.do("tensorflow.context._context"))
        job.do("tensorflow.context.ensure_initialized()")
        a = self.one(self.monitor(job))
        self.assertEqual((a["kind"], a["allocated_bytes"], a["returnable_bytes"]), ("tensorflow", 3 * GIB, 0))
        self.assertEqual(a["peak_allocated_bytes"], 5 * GIB)
        self.assertNotIn("reserved_bytes", a)

    def test_rmm(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = -1e9",
                       "import torch; torch.cuda.set_device(0)", "import rmm.mr as mr",
                       "mr.set_per_device_resource(0, mr.StatisticsResourceAdaptor(mr.PoolMemoryResource(8 << 30), 3 << 30))")
        monitor = self.monitor(job)
        self.assertEqual(self.one(monitor), {"kind": "rmm", "reserved_bytes": 8 * GIB, "allocated_bytes": 3 * GIB,
                                             "returnable_bytes": 0})
        self.assertIn("RMM's pool frees nothing", monitor.ask("flush", level="gradual")["notes"])

    def test_two_libraries_on_one_pool_are_one_allocator(self):
        job = self.job("import vramscope_probe as v; v._STATS_TIME = -1e9",
                       "import torch; t, u = torch.empty(40 << 20), torch.empty(40 << 20); del u", "import rmm.mr as mr",
                       "assert torch.cuda._devices[0].cuda.cuCtxSynchronize() == 0",
                       "mr.set_per_device_resource(0, mr.CudaAsyncMemoryResource(torch.cuda._allocators[0]._pool().value))",
                       PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
        monitor = self.monitor(job)
        self.assertEqual([r["name"] for r in monitor.ask("hello")["runtimes"]], ["PyTorch", "RMM"])
        self.assertEqual(self.one(monitor)["allocated_bytes"], 40 * MIB)
        answer = monitor.ask("flush", level="gradual", keep_bytes=10 * MIB)
        self.assertEqual(self.one(monitor)["allocated_bytes"], 40 * MIB)
        self.assertGreaterEqual(answer["devices"][0]["freed_bytes"], 28 * MIB)


if __name__ == "__main__":
    unittest.main()
