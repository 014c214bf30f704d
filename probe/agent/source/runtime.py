class _Runtime:
    """One GPU library. Its subclasses are listed in _RUNTIMES (startup.py).

    What a library does not report is left out: unknown is never 0.
    """

    name = package = ""  # the library's name, and the package's
    flushes = False  # whether flush() can free anything

    def __init__(self, driver):
        self._driver = driver
        self._post_flush = _PostFlush()
        self._seen = False  # stats() has yielded something

    def version(self):
        return str(getattr(_module(self.package), "__version__", ""))

    def active(self):
        """Whether the program uses a GPU through this library."""
        return self._seen or any(True for _ in self.stats())

    def stats(self):
        """Yields (ordinal, allocator), the allocator with the protocol's keys."""
        raise NotImplementedError

    def _on_pool(self, kind, ordinal):
        """The figures of a library that allocates from the default CUDA pool and
        cannot flush it, or None if the pool is unused."""
        handle = self._driver.default_pool(ordinal)
        pair = self._driver.pool(handle) if handle else None
        if pair is None or pair[1] == 0:
            return None
        figures = {"kind": kind, "handle": handle}
        figures.update(self._driver.pool_peaks(handle))
        figures.update(self._post_flush.figures(handle, pair[1], pair[0]))
        figures["returnable_bytes"] = 0
        return figures

    def clear(self):
        """Frees what only an urgent flush frees, before flush()."""

    def flush(self, ordinals, keep, notes):
        """Frees cached memory on these devices; returns why it could not, or None."""
        raise NotImplementedError


class _PostFlush:
    """Fragmentation measured by flushing (basis post_flush), for allocators that
    do not report it: what a full flush left idle is fragmented. Unknown before
    the first flush.
    """

    def __init__(self):
        self._left = {}

    def figures(self, key, reserved, used):
        used = min(used, reserved)
        idle = reserved - used
        figures = {"basis": "post_flush", "reserved_bytes": reserved, "allocated_bytes": used}
        left = self._left.get(key)
        fragmented = min(left, idle) if left is not None else 0
        if left is not None:
            figures["fragmented_bytes"] = fragmented
        figures["cached_bytes"] = figures["returnable_bytes"] = idle - fragmented
        return figures

    def pool_figures(self, key, pair):
        """The figures of a pool in the driver. Memory that its streams have not yet freed may count
        as used. A flush frees that memory, because it waits for the streams."""
        figures = dict(self.figures(key, pair[1], pair[0]), returnable_bound="about")
        if not figures["returnable_bytes"] and pair[0]:
            del figures["returnable_bytes"]  # unknown
        return figures

    def record(self, key, reserved, used):
        self._left[key] = max(reserved - used, 0)

    def trim(self, driver, key, handle, keep):
        """Trims a CUDA pool to keep bytes of cache. The caller has synchronised the
        device: a pool cannot free memory whose frees are still queued."""
        pair = driver.pool(handle)
        if pair is None:
            return
        fragmented = min(self._left.get(key, 0), max(pair[1] - pair[0], 0))
        driver.trim(handle, pair[0] + fragmented + keep if keep else 0)
        pair = driver.pool(handle)
        if pair is not None and not keep:
            self.record(key, pair[1], pair[0])


def _settings(*names):
    """Returns the environment variables of these names that are set, as NAME=value."""
    return _clip(" ".join("%s=%s" % (name, os.environ[name]) for name in names if os.environ.get(name)))
