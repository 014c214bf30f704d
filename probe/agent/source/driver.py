class _Driver:
    """libcuda, if the program has loaded it.

    Ordinals are CUDA's in this process; all libraries share them. No call here
    makes a context: the state of a primary context is read
    (cuDevicePrimaryCtxGetState), and the context is never retained.
    Source: https://docs.nvidia.com/cuda/cuda-driver-api/
    """

    _POOL_RESERVED, _POOL_USED = 5, 7  # CU_MEMPOOL_ATTR_*_CURRENT
    _POOL_RESERVED_HIGH, _POOL_USED_HIGH = 6, 8
    _CAPTURE_RELAXED = 2
    _POINTER_MAPPED, _INVALID_VALUE = 13, 1

    def __init__(self):
        self._library = None
        self._handles = []
        self._described = {}

    def _open(self):
        if self._library is None:
            self._foreign = _Foreign()
            try:
                # RTLD_NOLOAD: fails unless it is already loaded.
                self._library = self._foreign.open("libcuda.so.1", posix.RTLD_NOLOAD | posix.RTLD_NOW)
            except OSError:
                return False
        if not self._handles:
            count = self._foreign.int()
            if not self._call("cuDeviceGetCount", self._foreign.byref(count)):
                return False  # the program has not initialised it yet
            handles = []
            for ordinal in range(min(count.value, _MAX_DEVICES)):
                handle = self._foreign.int()
                if not self._call("cuDeviceGet", self._foreign.byref(handle), self._foreign.int(ordinal)):
                    return False
                handles.append(handle)
            self._handles = handles
        return bool(self._handles)

    def _call(self, name, *arguments):
        try:
            function = self._library.get(name)
        except AttributeError:
            return False
        return function(*arguments) == 0

    def in_use(self):
        """The ordinals of devices with a context, or None if unknown."""
        if not self._open():
            return None
        used = []
        flags, active = self._foreign.uint(), self._foreign.int()
        for ordinal, handle in enumerate(self._handles):
            if not self._call(
                "cuDevicePrimaryCtxGetState", handle, self._foreign.byref(flags), self._foreign.byref(active)
            ):
                return None
            if active.value:
                used.append(ordinal)
        return used

    def describe(self, ordinal):
        """(UUID in NVML's form, total bytes), each None if unknown."""
        if not self._open() or ordinal >= len(self._handles):
            return None, None
        if ordinal not in self._described:
            handle = self._handles[ordinal]
            # On a MIG instance the first call returns the GPU's UUID, the second the instance's.
            gpu, own = self._uuid("cuDeviceGetUuid", handle), self._uuid("cuDeviceGetUuid_v2", handle)
            uuid = "MIG-" + own if gpu and own and gpu != own else "GPU-" + (gpu or own) if gpu or own else None
            total = self._foreign.ulong()
            known = self._call("cuDeviceTotalMem_v2", self._foreign.byref(total), handle)
            self._described[ordinal] = uuid, total.value if known else None
        return self._described[ordinal]

    def _uuid(self, name, handle):
        raw = (self._foreign.ubyte * 16)()
        if not self._call(name, raw, handle):
            return None
        digits = bytes(raw).hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def default_pool(self, ordinal):
        """The handle of the pool that cudaMallocAsync uses, or None."""
        if not self._open() or ordinal >= len(self._handles):
            return None
        pool = self._foreign.pointer()
        if not self._call("cuDeviceGetDefaultMemPool", self._foreign.byref(pool), self._handles[ordinal]):
            return None
        return pool.value

    def pool(self, handle):
        """(used, reserved) of a pool, or None."""
        # Used is read first: an allocation in between cannot make it exceed reserved.
        return self._pool_figures(handle, self._POOL_USED, self._POOL_RESERVED)

    def pool_peaks(self, handle):
        """The peaks of a pool, with the protocol's keys."""
        pair = self._pool_figures(handle, self._POOL_USED_HIGH, self._POOL_RESERVED_HIGH)
        return {"peak_allocated_bytes": pair[0], "peak_reserved_bytes": pair[1]} if pair else {}

    def _pool_figures(self, handle, *attributes):
        if not self._open():
            return None
        figures = []
        for attribute in attributes:
            value = self._foreign.ulong()
            if not self._call(
                "cuMemPoolGetAttribute",
                self._foreign.pointer(handle),
                self._foreign.int(attribute),
                self._foreign.byref(value),
            ):
                return None
            figures.append(value.value)
        return figures

    def trim(self, handle, keep):
        """Trims a pool to keep bytes, which include its live blocks."""
        if not self._open():
            return False
        return self._call("cuMemPoolTrimTo", self._foreign.pointer(handle), self._foreign.ulong(keep))

    def mapped(self, address):
        """Whether there is memory behind an address that an allocator counts, or None if unknown."""
        if not self._open():
            return None
        try:
            ask = self._library.get("cuPointerGetAttribute")
        except AttributeError:
            return None
        mapped = self._foreign.int()
        code = ask(self._foreign.byref(mapped), self._foreign.int(self._POINTER_MAPPED), self._foreign.ulong(address))
        return bool(mapped.value) if code in (0, self._INVALID_VALUE) else None

    def relax(self):
        """Keeps this thread's calls, such as cudaFree, from invalidating a graph
        capture in another thread.
        """
        if self._open():
            mode = self._foreign.int(self._CAPTURE_RELAXED)
            self._call("cuThreadExchangeStreamCaptureMode", self._foreign.byref(mode))
