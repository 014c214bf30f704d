class _Residue:
    """What full flushes had to leave idle: it lay between live blocks.

    That is how fragmentation of an allocator becomes known that does not tell
    it (basis post_flush): unknown before the first flush.
    """

    def __init__(self):
        self._left = {}

    def books(self, key, reserved, used, returns=True):
        used = min(used, reserved)
        idle = reserved - used
        figures = {"basis": "post_flush", "reserved_bytes": reserved, "allocated_bytes": used}
        left = self._left.get(key)
        stuck = min(left, idle) if left is not None else 0
        if left is not None:
            figures["fragmented_bytes"] = stuck
        figures["cached_bytes"] = idle - stuck
        figures["returnable_bytes"] = idle - stuck if returns else 0
        return figures

    def note(self, key, reserved, used):
        self._left[key] = max(reserved - used, 0)

    def trim(self, driver, key, handle, keep):
        """Has a CUDA pool give back all but keep bytes of what it can. The device
        has been waited for: frees that it has not come to do not count."""
        pair = driver.pool(handle)
        if pair is None:
            return
        stuck = min(self._left.get(key, 0), max(pair[1] - pair[0], 0))
        driver.trim(handle, pair[0] + stuck + keep if keep else 0)
        pair = driver.pool(handle)
        if pair is not None and not keep:
            self.note(key, pair[1], pair[0])
