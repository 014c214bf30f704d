class _CuPy:
    """CuPy's memory pool. Source: https://docs.cupy.dev/en/stable/user_guide/memory.html"""

    name, package, flushes = "CuPy", "cupy", True

    def __init__(self, driver):
        self._driver = driver
        self._residue = _Residue()
        self._held = False

    def version(self):
        return str(getattr(_module("cupy"), "__version__", ""))

    def active(self):
        return self._held or any(True for _ in self.books())

    def _pool(self):
        """The pool in use, which need not be the default one."""
        cupy = _module("cupy")
        current = _attribute(cupy, "cuda", "get_allocator")
        pool = getattr(current(), "__self__", None) if current is not None else None
        if not hasattr(pool, "free_all_blocks"):
            default = _attribute(cupy, "get_default_memory_pool")
            pool = default() if default is not None else None
        return pool

    def _each(self):
        """Puts this thread on each device in use, in turn: pools tell of the current one."""
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

    def books(self):
        for ordinal, pool in self._each():
            used, reserved, handle = self._figures(ordinal, pool)
            if reserved <= 0:
                continue
            self._held = True
            figures = {"kind": "cuda_pool" if handle else "cupy"}
            if handle:
                figures["handle"] = handle
                figures.update(self._driver.pool_peaks(handle))
            figures.update(self._residue.books(ordinal, reserved, used))
            yield ordinal, figures

    def clear(self):
        """Its plan caches are each thread's own: nothing can be done from here."""

    def flush(self, ordinals, keep, notes):
        for ordinal, pool in self._each():
            if ordinal not in ordinals:
                continue
            used, reserved, handle = self._figures(ordinal, pool)
            if handle:
                _module("cupy").cuda.Device(ordinal).synchronize()
                self._residue.trim(self._driver, ordinal, handle, keep)
                continue
            pool.free_all_blocks()
            used, reserved, _ = self._figures(ordinal, pool)
            self._residue.note(ordinal, reserved, used)
            if keep:
                notes.append("CuPy gives back all of its cache or nothing")
        return None
