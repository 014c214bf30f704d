class _Preloaded:
    """The library that `vramscope run` preloads into native programs, where it
    is in this one, too: it has the books of every allocation that goes through
    libcuda. It leaves the serving to us.
    Source: probe/preload/shim/owner.c
    """

    _SIZE = 256 << 10

    def __init__(self):
        self._library = None

    def _open(self):
        if self._library is None and "libvramscope.so" in os.environ.get("LD_PRELOAD", ""):
            with _imports:
                import ctypes

            library = ctypes.CDLL(None)
            if hasattr(library, "vramscope_preload_yield"):
                library.vramscope_preload_report.restype = ctypes.c_long
                library.vramscope_preload_report.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
                self._library, self._buffer = library, ctypes.create_string_buffer(self._SIZE)
        return self._library

    def take_over(self):
        """From now on we serve for this process, and it no more."""
        try:
            library = self._open()
            if library is not None:
                library.vramscope_preload_yield()
        except Exception:
            _complain("taking over from the preloaded library")

    def add_to(self, report):
        """Adds what only it knows: memory outside of all that is told of already, and further pools."""
        if self._open() is None:
            return
        import json

        length = self._library.vramscope_preload_report(self._buffer, self._SIZE)
        told = json.loads(self._buffer.raw[:length].decode()) if length > 0 else {"devices": []}
        known = {device["uuid"]: device for device in report["devices"]}
        for theirs in told.get("devices", ()):
            ours = known.get(theirs["uuid"])
            if ours is None:
                continue  # no library is known to use it: who asks for ordinals would not find it
            handles = {a.get("handle") for a in ours["allocators"]}
            rest = self._rest(theirs["allocators"], ours["allocators"])
            for allocator in theirs["allocators"]:
                if allocator.get("handle") and allocator["handle"] not in handles:
                    ours["allocators"].append(allocator)
            if rest is not None:
                ours["allocators"].append(rest)

    @staticmethod
    def _rest(theirs, ours):
        """Native allocations outside of the allocators that are told of, whose segments are among them."""
        raw = next((a for a in theirs if a["kind"] == "raw"), None)
        # What has a handle is a pool of the driver's, whose memory is no allocation of the process's.
        held = [a.get("reserved_bytes") for a in ours if not a.get("handle")]
        if raw is None or None in held:
            return None
        rest = raw["reserved_bytes"] - sum(held)
        if rest < 0:
            return None  # the two were read while something moved
        told = {"kind": "raw", "reserved_bytes": rest, "allocated_bytes": rest}
        for name in ("cached_bytes", "fragmented_bytes", "returnable_bytes"):
            told[name] = 0
        for name in raw if not any(held) else ("out_of_memory_count",):
            told.setdefault(name, raw[name])
        return told
