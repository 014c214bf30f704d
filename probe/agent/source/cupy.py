class _CuPy(_Runtime):
    """CuPy's memory pool. Source: https://docs.cupy.dev/en/stable/user_guide/memory.html

    clear() does nothing: CuPy's plan caches belong to the threads that filled them.
    """

    name, package, flushes = "CuPy", "cupy", True

    def _pool(self):
        """The pool in use. It need not be the default pool."""
        cupy = _module("cupy")
        current = _attribute(cupy, "cuda", "get_allocator")
        pool = getattr(current(), "__self__", None) if current is not None else None
        if not hasattr(pool, "free_all_blocks"):
            default = _attribute(cupy, "get_default_memory_pool")
            pool = default() if default is not None else None
        return pool

    def _each(self):
        """Makes each device in use current in turn: a pool's figures are the current device's."""
        ordinals = self._driver.in_use() if _module("cupy") is not None else None
        device = _attribute(_module("cupy"), "cuda", "Device")
        pool = self._pool() if ordinals and device is not None else None
        for ordinal in ordinals if pool is not None else ():
            device(ordinal).use()
            yield ordinal, pool

    def _figures(self, ordinal, pool):
        """(used, reserved, handle)"""
        if type(pool).__name__ == "MemoryAsyncPool":
            handle = self._driver.default_pool(ordinal)
            pair = self._driver.pool(handle) if handle else None
            if pair is not None:
                return pair[0], pair[1], handle
        return int(pool.used_bytes()), int(pool.total_bytes()), None

    def stats(self):
        for ordinal, pool in self._each():
            used, reserved, handle = self._figures(ordinal, pool)
            if reserved <= 0:
                continue
            self._seen = True
            figures = {"kind": "cuda_pool" if handle else "cupy"}
            if handle:
                figures["handle"] = handle
                figures.update(self._driver.pool_peaks(handle))
                figures.update(self._post_flush.pool_figures(ordinal, (used, reserved)))
            else:
                figures.update(self._post_flush.figures(ordinal, reserved, used))
            yield ordinal, figures

    def flush(self, ordinals, keep, notes):
        for ordinal, pool in self._each():
            if ordinal not in ordinals:
                continue
            used, reserved, handle = self._figures(ordinal, pool)
            if handle:
                _module("cupy").cuda.Device(ordinal).synchronize()
                self._post_flush.trim(self._driver, ordinal, handle, keep)
                continue
            pool.free_all_blocks()
            used, reserved, _ = self._figures(ordinal, pool)
            self._post_flush.record(ordinal, reserved, used)
            if keep:
                notes.append("CuPy frees all of its cache or nothing: keep_bytes was ignored")
        return None
