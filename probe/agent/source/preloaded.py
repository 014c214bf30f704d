class _Preloaded:
    """The library that `vramscope run` preloads into native programs. If this
    process has it too, it counts the allocations made through libcuda, and
    stops serving in favour of this probe.
    Source: probe/preload/shim/owner.c
    """

    _SIZE = 256 << 10
    # By kind of allocator, the beginnings of the names of libraries' files. All
    # allocations of such a library are that allocator's.
    _FILES = {"tensorflow": ("libtensorflow", "_pywrap_tensorflow")}

    def __init__(self):
        self._library = None

    def _open(self):
        if self._library is None and "libvramscope.so" in os.environ.get("LD_PRELOAD", ""):
            foreign = _Foreign()
            library = foreign.open(None)
            try:
                library.vramscope_preload_yield = library.get("vramscope_preload_yield")
                library.vramscope_preload_report = library.get("vramscope_preload_report", foreign.long, foreign.text, foreign.ulong)
                self._library, self._buffer = library, foreign.buffer(self._SIZE)
            except AttributeError:
                pass  # the variable names a library that could not be loaded
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
        """Adds what only the library knows: further devices and pools, memory outside of all other allocators, failed allocations and rescues."""
        if self._open() is None:
            return
        length = self._library.vramscope_preload_report(self._buffer, self._SIZE)
        native = _decoded(self._buffer.raw[:length].decode()) if length > 0 else {"devices": []}
        known = {device["uuid"]: device for device in report["devices"]}
        for theirs in native.get("devices", ()):
            ours = known.get(theirs["uuid"])
            if ours is not None:
                ours["allocators"].extend(self._further(theirs["allocators"], ours["allocators"]))
                failed = ours.get("out_of_memory", []) + theirs.get("out_of_memory", [])
                if failed:
                    ours["out_of_memory"] = sorted(failed, key=lambda error: error["time_ns"])
                if "rescues" in theirs:
                    ours["rescues"] = theirs["rescues"]
            elif len(report["devices"]) < _MAX_DEVICES:
                # No Python library reports this device. Nothing of it can be flushed, so it needs no ordinal.
                theirs["allocators"] = self._further(theirs["allocators"], [])
                report["devices"].append(theirs)

    def _further(self, theirs, ours):
        """Returns the native allocators less what ours report. A flush of this probe frees none of their memory."""
        handles = {a["handle"] for a in ours if a.get("handle")}
        further = []
        for allocator in theirs:
            if allocator["kind"] == "raw":
                allocator = self._rest(allocator, ours)
            if allocator is None or allocator.get("handle") in handles:
                continue
            allocator["returnable_bytes"] = 0
            if ours:
                # A library tries again after a call that failed: that is no error of the program's.
                allocator.pop("out_of_memory_count", None)
            further.append(allocator)
        return further[: max(_MAX_ALLOCATORS - len(ours), 0)]

    def _rest(self, raw, ours):
        """Returns the raw allocations less the segments of our allocators, which are among them; None if the result is negative."""
        by_library = raw.pop("libraries", ())
        # An allocator with a handle is a pool in the driver: none of its memory is a raw allocation.
        ours = [a for a in ours if not a.get("handle")]
        for allocator in ours:
            names = self._FILES.get(allocator["kind"])
            sizes = [of["bytes"] for of in by_library if names and of["library"].startswith(names)]
            if sizes and "reserved_bytes" not in allocator:
                self._complete(allocator, sum(sizes))
        reserved = sum(a.get("reserved_bytes", a.get("allocated_bytes", 0)) for a in ours)
        bytes_left = raw["reserved_bytes"] - reserved
        if bytes_left < 0:
            return None  # skew: memory changed between the two readings
        if reserved:
            for name in ("blocks", "segments", "largest"):
                raw.pop(name, None)  # these include the segments of our allocators
        raw["reserved_bytes"] = raw["allocated_bytes"] = bytes_left
        return raw

    @staticmethod
    def _complete(allocator, reserved):
        """Adds what the library reserves to an allocator that reports only what it allocates."""
        idle = reserved - allocator.get("allocated_bytes", 0)
        if idle >= 0:
            allocator["reserved_bytes"], allocator["cached_bytes"] = reserved, idle
