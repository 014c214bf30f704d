class _Preloaded:
    """The library that `vramscope run` preloads into native programs. If this
    process has it too, it counts every allocation made through libcuda, and
    stops serving in favour of this probe.
    Source: probe/preload/shim/owner.c
    """

    _SIZE = 256 << 10

    def __init__(self):
        self._library = None

    def _open(self):
        if self._library is None and "libvramscope.so" in os.environ.get("LD_PRELOAD", ""):
            import ctypes

            library = ctypes.CDLL(None)
            if hasattr(library, "vramscope_preload_yield"):
                library.vramscope_preload_report.restype = ctypes.c_long
                library.vramscope_preload_report.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
                self._library, self._buffer = library, ctypes.create_string_buffer(self._SIZE)
        return self._library

    def take_over(self):
        """Makes the library stop serving."""
        try:
            library = self._open()
            if library is not None:
                library.vramscope_preload_yield()
        except Exception:
            _log_failure("taking over from the preloaded library")

    def add_to(self, report):
        """Adds what only the library knows: further pools, and memory outside of all other allocators."""
        if self._open() is None:
            return
        length = self._library.vramscope_preload_report(self._buffer, self._SIZE)
        native = _json_decoder.decode(self._buffer.raw[:length].decode()) if length > 0 else {"devices": []}
        known = {device["uuid"]: device for device in report["devices"]}
        for theirs in native.get("devices", ()):
            ours = known.get(theirs["uuid"])
            if ours is None:
                continue  # no Python library uses this device, and a flush could not find its ordinal
            handles = {a.get("handle") for a in ours["allocators"]}
            rest = self._rest(theirs["allocators"], ours["allocators"])
            for allocator in theirs["allocators"]:
                if allocator.get("handle") and allocator["handle"] not in handles:
                    ours["allocators"].append(allocator)
            if rest is not None:
                ours["allocators"].append(rest)

    @staticmethod
    def _rest(theirs, ours):
        """Native allocations less the segments of our allocators, which are among them."""
        raw = next((a for a in theirs if a["kind"] == "raw"), None)
        # An allocator with a handle is a pool in the driver: none of its memory is a raw allocation.
        reserved = [a.get("reserved_bytes") for a in ours if not a.get("handle")]
        if raw is None or None in reserved:
            return None
        bytes_left = raw["reserved_bytes"] - sum(reserved)
        if bytes_left < 0:
            return None  # skew: memory changed between the two readings
        rest = {"kind": "raw", "reserved_bytes": bytes_left, "allocated_bytes": bytes_left}
        for name in ("cached_bytes", "fragmented_bytes", "returnable_bytes"):
            rest[name] = 0
        for name in raw if not any(reserved) else ("out_of_memory_count",):
            rest.setdefault(name, raw[name])
        return rest
