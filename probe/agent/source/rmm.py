class _RMM(_Runtime):
    """RAPIDS' memory resources. Source: https://docs.rapids.ai/api/rmm/stable/"""

    name, package, flushes = "RMM", "rmm", True

    def _each(self):
        """Yields (ordinal, allocated, pool size, handle of a CUDA pool). The last three may be None: unknown."""
        resource = _attribute(_module("rmm"), "mr", "get_per_device_resource")
        if resource is None:
            return
        for ordinal in self._driver.in_use() or ():
            try:
                layer = resource(ordinal)
            except KeyError:
                continue
            allocated = size = handle = None
            for _ in range(16):  # adaptors may be nested
                kind = type(layer).__name__
                if kind == "StatisticsResourceAdaptor":
                    counts = layer.allocation_counts
                    allocated = counts["current_bytes"] if isinstance(counts, dict) else counts.current_bytes
                elif kind == "TrackingResourceAdaptor":
                    allocated = layer.get_allocated_bytes()
                elif kind == "PoolMemoryResource":
                    size = layer.pool_size()
                elif kind == "CudaAsyncMemoryResource":
                    asked = getattr(layer, "pool_handle", None)
                    handle = int(asked()) if asked is not None else None
                layer = getattr(layer, "upstream_mr", None)
                if layer is None:
                    break
            yield ordinal, allocated, size, handle

    def stats(self):
        for ordinal, allocated, size, handle in self._each():
            pair = self._driver.pool(handle) if handle else None
            if pair is not None and pair[1]:
                figures = dict({"kind": "rmm", "handle": handle}, **self._driver.pool_peaks(handle))
                figures.update(self._post_flush.pool_figures(ordinal, pair))
            elif size is not None:
                # RMM's own pool never shrinks.
                figures = {"kind": "rmm", "reserved_bytes": int(size), "returnable_bytes": 0}
                if allocated is not None and allocated <= size:
                    figures["allocated_bytes"] = int(allocated)
            elif allocated:
                held = int(allocated)
                figures = {"kind": "rmm", "reserved_bytes": held, "allocated_bytes": held}
                figures.update({"cached_bytes": 0, "fragmented_bytes": 0, "returnable_bytes": 0})
            else:
                continue
            self._seen = True
            yield ordinal, figures

    def flush(self, ordinals, keep, notes):
        for ordinal, _, size, handle in self._each():
            if handle and ordinal in ordinals:
                self._post_flush.trim(self._driver, ordinal, handle, keep)
            elif size is not None:
                notes.append("RMM's pool frees nothing")
        return None
