class _JAX(_Runtime):
    """Source: https://docs.jax.dev/en/latest/gpu_memory_allocation.html"""

    name, package = "JAX", "jax"

    def _devices(self):
        """Returns JAX's GPUs, or none before its backends exist: local_devices() would create
        the backends, which reserve three quarters of the memory."""
        bridge = _module("jax._src.xla_bridge")
        ready = _attribute(bridge, "backends_are_initialized")
        local = _attribute(_module("jax"), "local_devices")
        if ready is None or local is None or not ready():
            return []
        try:
            return local(backend="gpu")
        except RuntimeError:
            return []  # no GPU

    def active(self):
        return bool(self._devices())

    def stats(self):
        for device in self._devices():
            ordinal = getattr(device, "local_hardware_id", None)
            if ordinal is None:
                ordinal = device.id
            stats = device.memory_stats()
            if not stats:
                continue  # the platform allocator of older releases: each array is an allocation of the driver's
            figures = self._on_pool("jax", ordinal) if "pool_bytes" not in stats else None  # cuda_async
            figures = figures or self._allocator(stats)
            settings = _settings("XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR")
            if settings:
                figures["config"] = settings
            yield ordinal, figures

    def _allocator(self, stats):
        a = {"kind": "jax", "basis": "largest_free", "returnable_bytes": 0}
        used, reserved = stats.get("bytes_in_use"), stats.get("pool_bytes")
        largest = stats.get("largest_free_block_bytes")
        if used is not None:
            a["allocated_bytes"] = used
        for name, key in (("peak_allocated_bytes", "peak_bytes_in_use"), ("peak_reserved_bytes", "peak_pool_bytes")):
            if stats.get(key) is not None:
                a[name] = stats[key]
        if reserved is None or used is None or used > reserved:
            return a
        a["reserved_bytes"] = reserved
        a["cached_bytes"] = reserved - used
        if largest or reserved == used:  # releases that do not count the largest block report 0
            a["largest_free_bytes"] = a["cached_bytes"] = min(largest or 0, reserved - used)
            a["fragmented_bytes"] = reserved - used - a["cached_bytes"]
        return a
