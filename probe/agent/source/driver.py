class _Driver:
    """libcuda, where the program has loaded it: never loaded by us.

    Ordinals are those of CUDA in this process, which all libraries share.
    Every call here reads and makes nothing: a device's primary context is
    asked for (cuDevicePrimaryCtxGetState), never retained.
    Source: https://docs.nvidia.com/cuda/cuda-driver-api/
    """

    _POOL_RESERVED, _POOL_USED = 5, 7  # CU_MEMPOOL_ATTR_*_CURRENT
    _POOL_RESERVED_HIGH, _POOL_USED_HIGH = 6, 8
    _CAPTURE_RELAXED = 2

    def __init__(self):
        self._library = None
        self._handles = []
        self._described = {}

    def _open(self):
        if self._library is None:
            with _imports:
                import ctypes

            self._ctypes = ctypes
            try:
                # RTLD_NOLOAD: fails unless it is loaded already.
                self._library = ctypes.CDLL("libcuda.so.1", mode=os.RTLD_NOLOAD | os.RTLD_NOW)
            except OSError:
                return False
        if not self._handles:
            count = self._ctypes.c_int()
            if not self._call("cuDeviceGetCount", self._ctypes.byref(count)):
                return False  # not initialised yet, by whoever loaded it
            handles = []
            for ordinal in range(min(count.value, _MAX_DEVICES)):
                handle = self._ctypes.c_int()
                if not self._call("cuDeviceGet", self._ctypes.byref(handle), self._ctypes.c_int(ordinal)):
                    return False
                handles.append(handle)
            self._handles = handles
        return bool(self._handles)

    def _call(self, name, *arguments):
        try:
            function = getattr(self._library, name)
        except AttributeError:
            return False
        return function(*arguments) == 0

    def in_use(self):
        """The ordinals of devices with a context; None where that cannot be told."""
        if not self._open():
            return None
        used = []
        flags, active = self._ctypes.c_uint(), self._ctypes.c_int()
        for ordinal, handle in enumerate(self._handles):
            if not self._call(
                "cuDevicePrimaryCtxGetState", handle, self._ctypes.byref(flags), self._ctypes.byref(active)
            ):
                return None
            if active.value:
                used.append(ordinal)
        return used

    def describe(self, ordinal):
        """(UUID in NVML's form, total bytes), each None where it is not told."""
        if not self._open() or ordinal >= len(self._handles):
            return None, None
        if ordinal not in self._described:
            handle = self._handles[ordinal]
            # The first version names the GPU, the second a MIG instance.
            gpu, own = self._uuid("cuDeviceGetUuid", handle), self._uuid("cuDeviceGetUuid_v2", handle)
            uuid = "MIG-" + own if gpu and own and gpu != own else "GPU-" + (gpu or own) if gpu or own else None
            total = self._ctypes.c_size_t()
            told = self._call("cuDeviceTotalMem_v2", self._ctypes.byref(total), handle)
            self._described[ordinal] = uuid, total.value if told else None
        return self._described[ordinal]

    def _uuid(self, name, handle):
        raw = (self._ctypes.c_ubyte * 16)()
        if not self._call(name, raw, handle):
            return None
        digits = bytes(raw).hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def default_pool(self, ordinal):
        """The pool that cudaMallocAsync takes from, or None."""
        if not self._open() or ordinal >= len(self._handles):
            return None
        pool = self._ctypes.c_void_p()
        if not self._call("cuDeviceGetDefaultMemPool", self._ctypes.byref(pool), self._handles[ordinal]):
            return None
        return pool.value

    def pool(self, handle):
        """(used, reserved) of a pool, or None."""
        # Used is read first: what is taken between the two makes a little more
        # idle, never a used above reserved.
        return self._pool_figures(handle, self._POOL_USED, self._POOL_RESERVED)

    def pool_peaks(self, handle):
        """The highest that they have been, in the protocol's words."""
        pair = self._pool_figures(handle, self._POOL_USED_HIGH, self._POOL_RESERVED_HIGH)
        return {"peak_allocated_bytes": pair[0], "peak_reserved_bytes": pair[1]} if pair else {}

    def _pool_figures(self, handle, *attributes):
        if not self._open():
            return None
        figures = []
        for attribute in attributes:
            value = self._ctypes.c_uint64()
            if not self._call(
                "cuMemPoolGetAttribute",
                self._ctypes.c_void_p(handle),
                self._ctypes.c_int(attribute),
                self._ctypes.byref(value),
            ):
                return None
            figures.append(value.value)
        return figures

    def trim(self, handle, keep):
        """Has a pool give back all but keep bytes, which live blocks are counted in."""
        if not self._open():
            return False
        return self._call("cuMemPoolTrimTo", self._ctypes.c_void_p(handle), self._ctypes.c_size_t(keep))

    def relax(self):
        """Keeps this thread's calls from breaking a graph capture of another.

        Without it a cudaFree here would invalidate a capture that is under
        way in the program's own threads.
        """
        if self._open():
            mode = self._ctypes.c_int(self._CAPTURE_RELAXED)
            self._call("cuThreadExchangeStreamCaptureMode", self._ctypes.byref(mode))
