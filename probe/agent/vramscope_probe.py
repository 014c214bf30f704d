"""The vramscope probe: what the GPU memory of this Python process is.

`vramscope run` puts it on PYTHONPATH; a program may also import it itself:

    import vramscope_probe
    vramscope_probe.register_evictable("tokenizer cache", 10, cache.clear)

It needs nothing but the standard library, of Python 3.8 or newer, on Linux.

    import hook ── torch, cupy, jax … is being imported ──→ thread, watching
                   (only looks)                                │ a library uses a GPU
    monitor ←── one JSON object a line, Unix socket ──── thread, serving
                                                               │ flush, snapshot
                                                         a thread for each, while it lasts

It must be a good guest. It never imports or initialises a library, never
makes a CUDA context, and makes no CUDA call that waits for the GPU except in a flush, which
somebody has confirmed. Nothing that fails in it reaches the program. Its threads
are no threads of the `threading` module and take no signals. A forked child
drops what it inherited.

docs/protocol.md of vramscope describes what it speaks.
"""

import _thread
import os
import sys

__all__ = ["register_evictable", "unregister_evictable"]
__version__ = "1.0.0"

_PROTOCOL = "vramscope/1"

# The packages whose import starts the thread. A package's name alone may be
# looked for without being imported (importlib.util.find_spec); a submodule's
# may not.
_LIBRARIES = frozenset(["torch", "cupy", "jax", "tensorflow", "rmm"])

_CMSG_CLOEXEC = 0x40000000  # MSG_CMSG_CLOEXEC, which the socket module of 3.8 has no name for
_MAX_LINE = 256 << 10
_MAX_MEMBERS = 16 << 10
_MAX_DEPTH = 512
_MAX_BYTES = 1 << 50
_MAX_COUNT = 1 << 53
_MAX_TEXT = 256
_MAX_DEVICES = 64
_MAX_NOTES = 8
_MAX_EVICTABLE = 32

_CONNECTIONS = 16
_IDLE_TIME = 120.0  # then a connection is closed
_LINE_TIME = 5.0  # for the rest of a line that has begun
_WRITE_TIME = 2.0  # for a monitor to take an answer
_PLACE_TIME = 5.0  # between two looks at the socket's name
_FLUSH_BURST = 8  # flushes at once
_FLUSH_EVERY = 2.0  # and one more each such time
_STATS_TIME = 0.9  # books younger than that are not read again
_SIZES_TIME = 4.0  # between two questions to the program how large its caches are …
_SIZES_SHARE = 200  # … and so many times as long as it took to answer …
_SIZES_MOST = 120.0  # … but no longer than that
_SIZES_OLD = 30.0  # a size that was told before that is not told any more
_SIZES_WAIT = 0.05  # that the thread waits for the program to tell them
_FORK_TIME = 5.0  # that a fork waits for an import of ours
_LEAVE_TIME = 0.5  # that the end of the program waits for the thread
_SNAPSHOT_SHARE = 0.0003  # of the time may be spent in PyTorch's snapshots …
_SNAPSHOT_MOST = 0.02  # … and no longer than this at a stretch, in seconds
_MAP_MOST = 0.5  # seconds that a map which somebody asks for may take at a stretch …
_MAP_SHARE = 0.02  # … and the share of the time that maps may take in the long run
_MAP_SCHEMA = "vramscope/segments/1"
_MAP_SEGMENTS = 8 << 10
_MAP_BLOCKS = 128 << 10
_FILE_MOST = 8 << 30  # bytes of PyTorch's own snapshot


def _complain(doing):
    """Writes the exception at hand where somebody asked for it; never raises."""
    try:
        if os.environ.get("VRAMSCOPE_PROBE_DEBUG"):
            import traceback

            sys.stderr.write("vramscope probe, %s:\n%s" % (doing, traceback.format_exc()))
    except Exception:
        pass  # there is no other place to complain


def _module(name):
    """A module that the program has imported, or is importing, or None."""
    return sys.modules.get(name)


def _attribute(value, *path):
    """value.a.b.c, or None where one of them is not there (yet)."""
    for name in path:
        value = getattr(value, name, None)
        if value is None:
            return None
    return value


def _clip(text):
    text = str(text)
    while len(text.encode("utf-8", "replace")) > _MAX_TEXT:
        text = text[: len(text) - 1 - len(text) // 16]
    return text


def _size(count):
    """A size for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "GiB"
    return ("%d %s" if unit == "B" else "%.1f %s") % (count, unit)


def _first_line(error):
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def _no_thread(error, instead=""):
    """Why no thread could be started, in words that help.

    Python 3.12 took the end of the first thread for that of the program, until
    3.12.3: https://github.com/python/cpython/issues/113964
    """
    if "interpreter shutdown" not in str(error):
        return _first_line(error)
    if sys.version_info[:2] != (3, 12) or sys.version_info >= (3, 12, 3):
        return "the program is ending"
    return (
        "the program's first thread has ended, and Python 3.12.0 to 3.12.2 start no other one then; "
        "have the first thread wait for the others (join), use a newer Python" + instead
    )


# Held while we import, and while the program forks. A child that was forked in
# the middle of an import of ours would wait for that module for ever: it has the
# module's lock, but not the thread that holds it.
_imports = _thread.RLock()


def _before_fork():
    _imports.acquire(True, _FORK_TIME)


def _after_fork_in_parent():
    try:
        _imports.release()
    except RuntimeError:
        pass  # it was not had in time


class _Refusal(Exception):
    """What a monitor is told instead of an answer."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


# --- The driver ------------------------------------------------------------


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


# --- The libraries ---------------------------------------------------------
#
# Each tells whether it uses a GPU, its books as (ordinal, allocator in the
# protocol's words), and how it is flushed. What a library does not tell is
# left out: unknown is never 0.


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


class _PyTorch:
    """torch.cuda's caching allocator, or what stands in its place.

    Sources: https://pytorch.org/docs/stable/notes/cuda.html#memory-management
    https://pytorch.org/docs/stable/generated/torch.cuda.memory_stats.html
    """

    name, package, flushes = "PyTorch", "torch", True

    def __init__(self, driver):
        self._driver = driver
        self._residue = _Residue()
        self._count = 0
        self._devices = {}
        self._maps = {}  # ordinal → what its snapshot told
        self._next_map = 0.0
        self._map_cost = 2e-6  # seconds a block, measured as we go
        self._history = False
        self._conf = None  # the allocator's settings, as a snapshot told them

    def _cuda(self):
        torch = _module("torch")
        if torch is None or _attribute(torch, "version", "hip"):
            return None
        cuda = _attribute(torch, "cuda")
        ready = _attribute(cuda, "is_initialized")
        return cuda if ready is not None and ready() else None

    def version(self):
        return str(getattr(_module("torch"), "__version__", "")).partition("+")[0]

    def active(self):
        return self._cuda() is not None

    def describe(self, ordinal):
        """As the driver's, for a box where libcuda cannot be asked."""
        if ordinal not in self._devices:
            properties = self._cuda().get_device_properties(ordinal)
            uuid = str(getattr(properties, "uuid", "") or "")
            if uuid and not uuid.startswith(("GPU-", "MIG-")):
                uuid = "GPU-" + uuid
            self._devices[ordinal] = uuid or None, getattr(properties, "total_memory", None)
        return self._devices[ordinal]

    def _ordinals(self, cuda):
        """Devices that have a context. Asking others could give them one."""
        if not self._count:
            self._count = cuda.device_count()
        used = self._driver.in_use()
        if used is None:
            has = _attribute(_module("torch"), "_C", "_cuda_hasPrimaryContext")
            return [d for d in range(self._count) if has is None or has(d)]
        return [d for d in used if d < self._count]

    def _backend(self, cuda):
        asked = getattr(cuda, "get_allocator_backend", None)  # since 2.0
        return asked() if asked is not None else "native"

    def books(self):
        cuda = self._cuda()
        if cuda is None:
            return
        backend = self._backend(cuda)
        if backend == "native":
            yield from self._native(cuda)
        elif backend == "cudaMallocAsync":
            for ordinal in self._ordinals(cuda):
                figures = self._pool(cuda, ordinal)
                if figures is not None:
                    yield ordinal, figures
        # A pluggable allocator keeps books of its own, if any.

    def _pool(self, cuda, ordinal):
        """cudaMallocAsync: torch's keys are all 0 but two; the driver's pool tells."""
        handle = self._driver.default_pool(ordinal)
        pair = self._driver.pool(handle) if handle else None
        if pair is None:
            stats = self._stats(cuda, ordinal)
            pair = [_figure(stats, "allocated_bytes"), _figure(stats, "reserved_bytes")]
            if None in pair:
                return None
        if pair[1] == 0:
            return None
        figures = {"kind": "cuda_pool"}
        if handle:
            figures["handle"] = handle
            figures.update(self._driver.pool_peaks(handle))
        if self._settings():
            figures["config"] = self._settings()
        figures.update(self._residue.books(ordinal, pair[1], pair[0]))
        return figures

    def _stats(self, cuda, ordinal):
        nested = getattr(cuda, "memory_stats_as_nested_dict", None)
        # The flat form costs three times as much: it is made from this one.
        return nested(ordinal) if nested is not None else cuda.memory_stats(ordinal)

    def _native(self, cuda):
        every = [(d, self._stats(cuda, d)) for d in self._ordinals(cuda)]
        every = [(d, s) for d, s in every if _figure(s, "reserved_bytes", "peak") or _figure(s, "num_ooms", None)]
        try:
            self._survey(cuda, [s for _, s in every])
        except Exception:
            _complain("looking at PyTorch's blocks")
            self._maps, self._next_map = {}, _monotonic() + 60
        for ordinal, stats in every:
            yield ordinal, self._allocator(ordinal, stats)

    def _allocator(self, ordinal, stats):
        a = {"kind": "pytorch", "basis": "stranded"}
        seen = self._maps.get(ordinal)
        a.update(self._counts(stats, seen))
        reserved, active = _figure(stats, "reserved_bytes"), _figure(stats, "active_bytes")
        if reserved is None or active is None:
            return a
        active = min(active, reserved)
        a["allocated_bytes"] = active
        allocated, split = _figure(stats, "allocated_bytes"), _figure(stats, "inactive_split_bytes")
        if allocated is not None:
            a["pending_bytes"] = max(active - allocated, 0)
        if seen is not None:
            a["largest_free_bytes"] = min(seen["largest"], reserved - active)
        if split is None or (seen is None and self._expandable()):
            return a  # how much is stuck in expandable segments only a snapshot tells
        stuck = min(split + (sum(seen["stuck"].values()) if seen else 0), reserved - active)
        a["fragmented_bytes"] = stuck
        a["cached_bytes"] = reserved - active - stuck
        a["returnable_bytes"] = max(a["cached_bytes"] - (seen["private"] if seen else 0), 0)
        return a

    def _counts(self, stats, seen):
        """What an allocator tells besides its parts."""
        segments = _figure(stats, "segment")
        told = {
            "reserved_bytes": _figure(stats, "reserved_bytes"),
            "peak_allocated_bytes": _figure(stats, "active_bytes", "peak"),
            "peak_reserved_bytes": _figure(stats, "reserved_bytes", "peak"),
            "segments": segments,
            "blocks": _figure(stats, "active"),
            "out_of_memory_count": _figure(stats, "num_ooms", None),
            "alloc_retries": _figure(stats, "num_alloc_retries", None),
            "config": self._settings() or None,
        }
        if seen is not None and segments is not None:
            told["stranded_segments"] = min(seen["stranded"], segments)
        pools = [self._part(stats, seen, name) for name in ("small", "large")]
        if None not in pools:
            told["pools"] = pools
        return {name: value for name, value in told.items() if value is not None}

    def _part(self, stats, seen, name):
        """The small or the large pool: blocks of up to 1 MiB are kept apart."""
        own = name + "_pool"
        reserved, active = _figure(stats, "reserved_bytes", part=own), _figure(stats, "active_bytes", part=own)
        if reserved is None or active is None:
            return None
        told = {"name": name, "reserved_bytes": reserved, "allocated_bytes": active}
        split, segments = _figure(stats, "inactive_split_bytes", part=own), _figure(stats, "segment", part=own)
        if split is not None and not (seen is None and self._expandable()):
            told["fragmented_bytes"] = split + (seen["stuck"].get(name, 0) if seen else 0)
        if segments is not None:
            told["segments"] = segments
        return told

    def _settings(self):
        """How the allocator is set up, in its own words; "" where by nothing."""
        if self._conf:
            return self._conf
        return _clip(os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or "")

    def _expandable(self):
        return "expandable_segments:true" in self._settings().lower().replace(" ", "")

    # -- Snapshots

    def _recorded(self):
        """Whether the history of its memory is recorded; None where that is not told."""
        asked = _attribute(_module("torch"), "_C", "_cuda_isHistoryEnabled")  # since 2.1
        return asked() if asked is not None else None

    def _whole(self, cuda):
        """torch.cuda.memory._snapshot(), which has a dict since 1.13."""
        take = _attribute(cuda, "memory", "_snapshot")
        whole = take() if take is not None else cuda.memory_snapshot()
        if not isinstance(whole, dict):
            whole = {"segments": whole, "device_traces": []}
        settings = whole.get("allocator_settings") or {}
        for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            if settings.get(name):
                self._conf = _clip(settings[name])
                break
        return whole

    def _survey(self, cuda, every):
        """Looks at where the blocks lie, now and then.

        A snapshot holds the GIL while it makes an object of every block, and of
        every stack trace where history is recorded: those are left alone.
        """
        now = _monotonic()
        if now < self._next_map or self._history or not every:
            return
        blocks = _blocks(every)
        recorded = self._recorded()
        if blocks * self._map_cost > _SNAPSHOT_MOST or recorded:
            self._maps, self._next_map = {}, now + 10
            return
        segments = self._whole(cuda)["segments"]
        maps = {}
        for segment in segments:
            _add_segment(maps, segment)
        if recorded is None:
            # Nobody else tells that there is history, nor when it ends.
            self._history = any(b.get("history") or b.get("frames") for s in segments for b in s.get("blocks", ()))
        self._maps = maps
        took = max(_monotonic() - now, 1e-5)
        self._map_cost = max(self._map_cost / 2, took / max(blocks, 100))
        self._next_map = now + max(took / _SNAPSHOT_SHARE, 2.0)

    def no_snapshot(self):
        """Why it has none; None where it has."""
        if _module("torch") is None:
            return "only PyTorch tells where its blocks lie, and this program has not imported it"
        cuda = self._cuda()
        if cuda is None:
            return "PyTorch has not begun to use a GPU in this process"
        backend = self._backend(cuda)
        return None if backend == "native" else "PyTorch's allocator is %s, which does not tell where its blocks lie" % backend

    def no_map(self):
        """Why a map would cost the program too much; None where it would not."""
        if self._history or self._recorded():
            return "memory history is recorded, and a snapshot would hold the program up; vramscope snapshot takes one all the same"
        cuda = self._cuda()
        blocks = _blocks([self._stats(cuda, d) for d in self._ordinals(cuda)])
        if blocks * self._map_cost > _MAP_MOST:
            return "its %d blocks would hold the program up for %.1f s" % (blocks, blocks * self._map_cost)
        return None

    def take(self):
        """(a whole snapshot, seconds for which no other thread of the program ran)"""
        self._driver.relax()
        self.stand()
        began = _monotonic()
        whole = self._whole(self._cuda())
        return whole, _monotonic() - began

    def recording(self):
        return bool(self._history or self._recorded())

    # -- Flush

    def clear(self):
        """What only an urgent flush gives back."""
        cuda = self._cuda()
        if cuda is None:
            return
        plans = _attribute(_module("torch"), "backends", "cuda", "cufft_plan_cache")
        for ordinal in self._ordinals(cuda):
            try:
                plans[ordinal].clear()
            except Exception:
                _complain("clearing cuFFT plans")  # absent from some builds
        collect = getattr(cuda, "ipc_collect", None)
        if collect is not None:
            collect()

    def stand(self):
        """Puts this thread on a device that is in use.

        A new thread is on GPU 0, and the first call that needs a context would
        make one there, of some 500 MiB. torch.cuda.device() would go back
        there at its end, so the thread stays where it is put.
        """
        cuda = self._cuda()
        ordinals = self._ordinals(cuda) if cuda is not None else ()
        if ordinals:
            cuda.set_device(ordinals[0])

    def flush(self, ordinals, keep, notes):
        cuda = self._cuda()
        if cuda is None:
            return None
        backend = self._backend(cuda)
        if backend not in ("native", "cudaMallocAsync"):
            notes.append("PyTorch uses an allocator of its own (%s), which cannot be flushed" % backend)
            return None
        distributed = _module("torch.distributed")
        ready = _attribute(distributed, "is_initialized")
        if ready is not None and ready():
            notes.append("torch.distributed is running: other ranks may have waited")
        try:
            if backend == "native":
                self._empty(cuda, ordinals, keep, notes)
            else:
                self._trim(cuda, ordinals, keep)
        except RuntimeError as error:
            if "captur" in str(error):
                return "a graph capture was running: PyTorch refused"
            return "PyTorch refused: " + _first_line(error)
        self._next_map, self._maps = 0.0, {}
        return None

    def _empty(self, cuda, ordinals, keep, notes):
        if set(self._ordinals(cuda)) - set(ordinals):
            notes.append("PyTorch flushes all its devices at once")
        if keep:
            notes.append("PyTorch cannot give back a part: all of its cache went")
        cuda.empty_cache()

    def _trim(self, cuda, ordinals, keep):
        """As empty_cache does with cudaMallocAsync, device by device, and in parts."""
        for ordinal in self._ordinals(cuda):
            handle = self._driver.default_pool(ordinal) if ordinal in ordinals else None
            if handle:
                cuda.synchronize(ordinal)
                self._residue.trim(self._driver, ordinal, handle, keep)


def _figure(stats, key, which="current", part="all"):
    """A figure of memory_stats, flat or nested; None where this release lacks it."""
    value = stats.get(key)
    if which is not None:
        value = stats.get("%s.%s.%s" % (key, part, which)) if value is None else value.get(part, {}).get(which)
    return value if isinstance(value, int) and value >= 0 else None


def _blocks(every):
    """How many blocks and segments a snapshot would tell of, about."""
    return sum(_figure(s, key) or 0 for s in every for key in ("active", "inactive_split", "segment"))


# What PyTorch maps at a time in an expandable segment (kSmallBuffer and
# kLargeBuffer of c10/cuda/CUDACachingAllocator.cpp).
_PAGES = {"small": 2 << 20, "large": 20 << 20}


def _whole_pages(at, size, page):
    """(where the first whole page in [at, at + size) begins, bytes of whole pages)"""
    first = -(-at // page) * page
    return first, max((at + size) // page * page - first, 0)


def _add_segment(maps, segment):
    """Adds a segment of torch.cuda.memory_snapshot() to its device's figures.

    largest: the largest free block; private: free, and held by the private
    pool of a CUDA graph; stuck: free in an expandable segment, and part of no
    whole page, so that no flush returns it; stranded: how many segments have
    free memory between live blocks.
    """
    m = maps.setdefault(
        segment.get("device", 0), {"largest": 0, "private": 0, "stranded": 0, "stuck": {"small": 0, "large": 0}}
    )
    expandable = bool(segment.get("is_expandable"))
    kind = "small" if segment.get("segment_type") == "small" else "large"
    at = returns = stuck = 0
    free = live = False
    for block in segment.get("blocks", ()):
        size = block.get("size", 0)
        if block.get("state") == "inactive":
            free = True
            m["largest"] = max(m["largest"], size)
            if expandable:
                whole = _whole_pages(at, size, _PAGES[kind])[1]
                stuck += size - whole
                returns += whole
        else:
            live = True
        at += size
    m["stuck"][kind] += stuck
    m["stranded"] += 1 if (stuck if expandable else free and live) else 0
    if not expandable and not live:
        returns = segment.get("total_size", 0)
    if _is_private(segment):
        m["private"] += returns


def _is_private(segment):
    return tuple(segment.get("segment_pool_id") or (0, 0)) != (0, 0)


def _pieces(segment):
    """A segment as [[size, state], …]: what a flush gives back is cached, what else is free is stuck."""
    blocks = [(b.get("size", 0), b.get("state", "")) for b in segment.get("blocks", ())]
    expandable, private = segment.get("is_expandable"), _is_private(segment)
    page = _PAGES["small" if segment.get("segment_type") == "small" else "large"]
    idle = all(state == "inactive" for _, state in blocks)
    pieces, at = [], 0
    for size, state in blocks:
        if state != "inactive":
            parts = ((size, "live" if state == "active_allocated" else "pending"),)
        elif private or not (expandable or idle):
            parts = ((size, "stuck"),)
        elif not expandable:
            parts = ((size, "cached"),)
        else:
            first, whole = _whole_pages(at, size, page)
            head = first - at if whole else size
            parts = ((head, "stuck"), (whole, "cached"), (size - head - whole, "stuck"))
        pieces.extend([part, word] for part, word in parts if part > 0)
        at += size
    return pieces


def _joined(pieces):
    """The same with neighbours of one state made one."""
    joined = []
    for size, state in pieces:
        if joined and joined[-1][1] == state:
            joined[-1][0] += size
        else:
            joined.append([size, state])
    return joined


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


class _RMM:
    """RAPIDS' memory resources. Source: https://docs.rapids.ai/api/rmm/stable/"""

    name, package, flushes = "RMM", "rmm", True

    def __init__(self, driver):
        self._driver = driver
        self._residue = _Residue()
        self._held = False

    def version(self):
        return str(getattr(_module("rmm"), "__version__", ""))

    def active(self):
        return self._held or any(True for _ in self.books())

    def _each(self):
        """(ordinal, allocated, size of the pool, handle of a CUDA pool), each None where not told."""
        resource = _attribute(_module("rmm"), "mr", "get_per_device_resource")
        if resource is None:
            return
        for ordinal in self._driver.in_use() or ():
            try:
                layer = resource(ordinal)
            except KeyError:
                continue
            allocated = size = handle = None
            for _ in range(16):  # adaptors upon adaptors upon the resource
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

    def books(self):
        for ordinal, allocated, size, handle in self._each():
            pair = self._driver.pool(handle) if handle else None
            if pair is not None and pair[1]:
                figures = dict({"kind": "rmm", "handle": handle}, **self._driver.pool_peaks(handle))
                figures.update(self._residue.books(ordinal, pair[1], pair[0]))
            elif size is not None:
                # What it has pooled it keeps.
                figures = {"kind": "rmm", "reserved_bytes": int(size), "returnable_bytes": 0}
                if allocated is not None and allocated <= size:
                    figures["allocated_bytes"] = int(allocated)
            elif allocated:
                held = int(allocated)
                figures = {"kind": "rmm", "reserved_bytes": held, "allocated_bytes": held}
                figures.update({"cached_bytes": 0, "fragmented_bytes": 0, "returnable_bytes": 0})
            else:
                continue
            self._held = True
            yield ordinal, figures

    def clear(self):
        """There is nothing else."""

    def flush(self, ordinals, keep, notes):
        for ordinal, _, size, handle in self._each():
            if handle and ordinal in ordinals:
                self._residue.trim(self._driver, ordinal, handle, keep)
            elif size is not None:
                notes.append("RMM's pool never gives back")
        return None


class _JAX:
    """Source: https://docs.jax.dev/en/latest/gpu_memory_allocation.html"""

    name, package, flushes = "JAX", "jax", False

    def __init__(self, driver):
        self._driver = driver

    def version(self):
        return str(getattr(_module("jax"), "__version__", ""))

    def _devices(self):
        """Its GPUs. Asking before its backends exist would make them, and have them
        take three quarters of the memory."""
        bridge = _module("jax._src.xla_bridge")
        ready = _attribute(bridge, "backends_are_initialized")
        local = _attribute(_module("jax"), "local_devices")
        if ready is None or local is None or not ready():
            return []
        try:
            return local(backend="gpu")
        except RuntimeError:
            return []  # it has none

    def active(self):
        return bool(self._devices())

    def books(self):
        for device in self._devices():
            ordinal = getattr(device, "local_hardware_id", None)
            if ordinal is None:
                ordinal = device.id
            yield ordinal, self._allocator(device.memory_stats() or {})

    def _allocator(self, stats):
        a = {"kind": "jax", "basis": "largest_free", "returnable_bytes": 0}
        used, reserved = stats.get("bytes_in_use"), stats.get("pool_bytes")
        largest = stats.get("largest_free_block_bytes")
        if used is not None:
            a["allocated_bytes"] = used
        for name, key in (("peak_allocated_bytes", "peak_bytes_in_use"), ("peak_reserved_bytes", "peak_pool_bytes")):
            if stats.get(key) is not None:
                a[name] = stats[key]
        if reserved is None or used is None or used > reserved:
            return a
        a["reserved_bytes"] = reserved
        if largest is not None:
            a["largest_free_bytes"] = a["cached_bytes"] = min(largest, reserved - used)
            a["fragmented_bytes"] = reserved - used - a["cached_bytes"]
        return a


class _TensorFlow:
    """Source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/get_memory_info"""

    name, package, flushes = "TensorFlow", "tensorflow", False

    def __init__(self, driver):
        self._driver = driver

    def version(self):
        return str(getattr(_module("tensorflow"), "__version__", ""))

    def _config(self):
        """tf.config, once the program has made its devices: asking for them makes them."""
        context = _attribute(_module("tensorflow.python.eager.context"), "_context")
        if context is None or not getattr(context, "_initialized", False):
            return None
        return _attribute(_module("tensorflow"), "config")

    def active(self):
        config = self._config()
        return config is not None and bool(config.list_logical_devices("GPU"))

    def books(self):
        config = self._config()
        if config is None:
            return
        physical, logical = config.get_visible_devices("GPU"), config.list_logical_devices("GPU")
        if len(physical) != len(logical):
            return  # GPUs cut into virtual ones: whose is whose is not told
        for index, device in enumerate(physical):
            told = config.experimental.get_memory_info("GPU:%d" % index)
            yield int(device.name.rpartition(":")[2]), {
                "kind": "tensorflow",
                "basis": "largest_free",
                "allocated_bytes": int(told["current"]),
                "peak_allocated_bytes": int(told["peak"]),
                "returnable_bytes": 0,
            }


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


class _Memory:
    """All libraries' memory: the report and the flush."""

    def __init__(self):
        self._driver = _Driver()
        self._torch = _PyTorch(self._driver)
        # The most important first.
        self._libraries = [
            self._torch, _JAX(self._driver), _TensorFlow(self._driver), _CuPy(self._driver), _RMM(self._driver),
        ]
        self.preloaded = _Preloaded()
        self._lock = _thread.allocate_lock()
        self._report = None
        self._due = 0.0
        self._maps_cost = _Debt()

    def _active(self):
        for library in self._libraries:
            if _module(library.package) is None:
                continue
            try:
                if library.active():
                    yield library
            except Exception:
                _complain("asking " + library.name)

    def in_use(self):
        return any(True for _ in self._active())

    def runtimes(self):
        told = []
        for library in self._active():
            runtime = {"name": library.name}
            version = library.version()
            if version:
                runtime["version"] = _clip(version)
            told.append(runtime)
        return told

    def can_flush(self):
        return any(library.flushes for library in self._active())

    def report(self):
        """The books, at most so old as says _STATS_TIME."""
        with self._lock:
            now = _monotonic()
            if self._report is None or now >= self._due:
                self._report = self._read()
                took = _monotonic() - now
                # Slow books are read less often: at most half a per cent of the time.
                self._due = now + max(_STATS_TIME, min(took * 200, 2.5))
            return self._report

    def _fresh(self):
        with self._lock:
            self._report = None
            return self._read()

    def _read(self):
        report = {"time_ns": _time_ns(), "devices": []}
        devices, handles = {}, set()
        for library in self._active():
            try:
                books = list(library.books())
            except Exception:
                _complain("reading the books of " + library.name)
                continue
            for ordinal, allocator in books:
                device = devices.get(ordinal)
                if device is None:
                    device = devices[ordinal] = self._device(ordinal)
                    if device is not None and len(report["devices"]) < _MAX_DEVICES:
                        report["devices"].append(device)
                handle = allocator.get("handle")
                if device is None or (handle and handle in handles):
                    continue  # two libraries on one CUDA pool are one allocator
                handles.add(handle)
                device["allocators"].append(allocator)
        try:
            self.preloaded.add_to(report)
        except Exception:
            _complain("asking the preloaded library")
        return report

    def _device(self, ordinal):
        uuid, total = self._driver.describe(ordinal)
        if uuid is None and self._torch.active():
            uuid, total = self._torch.describe(ordinal)
        if uuid is None:
            return None
        device = {"uuid": uuid, "allocators": [], "ordinal": ordinal}
        if total is not None:
            device["total_bytes"] = int(total)
        return device

    # -- Flush

    def flush(self, request, evictable):
        """Gives memory back, and tells what was measured before and after."""
        started = _monotonic()
        level, keep, dry = request["level"], request["keep_bytes"], request["dry_run"]
        notes, reasons = [], []
        before = self._chosen(self._fresh(), request["devices"])
        after = {}
        if not before:
            reasons.append("this process uses none of these devices")
        elif dry:
            self._foretell(before, after, keep, level, evictable, notes)
        else:
            self._release(before, keep, level, evictable, notes, reasons)
            after = {d["uuid"]: _reserved(d) for d in self._chosen(self._fresh(), request["devices"])}
        devices = []
        for device in before:
            held = _reserved(device)
            left = after.get(device["uuid"], 0)
            devices.append(
                {"uuid": device["uuid"], "before_bytes": held, "after_bytes": left, "freed_bytes": held - left}
            )
        answer = {"level": level, "dry_run": dry, "devices": devices}
        wanted = sum(_returnable(d) for d in before)
        if not dry and not reasons and before and not any(d["freed_bytes"] > 0 for d in devices):
            if wanted > keep:
                reasons.append("the allocators gave nothing back: what is free lies between live blocks, or was taken again")
            else:
                reasons.append("nothing that a flush returns was cached")
        if reasons:
            answer["skipped_reason"] = _clip("; ".join(reasons))
        if notes:
            answer["notes"] = [_clip(note) for note in notes[:_MAX_NOTES]]
        answer["ms"] = round((_monotonic() - started) * 1000, 3)
        return answer

    def _chosen(self, report, uuids):
        return [d for d in report["devices"] if not uuids or d["uuid"] in uuids]

    def stand(self):
        """Puts this thread where the program's own code may use a GPU: in no capture's way, on a device in use."""
        self._driver.relax()
        self._torch.stand()

    def _foretell(self, before, after, keep, level, evictable, notes):
        for device in before:
            returns = _returnable(device)
            parts = all(a["kind"] == "cuda_pool" or not a.get("returnable_bytes") for a in device["allocators"])
            if returns <= keep:
                returns = 0
            elif parts:
                returns -= keep
            after[device["uuid"]] = _reserved(device) - returns
        if any("fragmented_bytes" not in a and a.get("cached_bytes") for d in before for a in d["allocators"]):
            notes.append("at most: how much is stuck between live blocks shows in the flush itself")
        if level != "gradual":
            self.stand()
            notes.extend(evictable.foretell())
        if level == "urgent":
            notes.append("garbage that the program has not collected is not counted")

    def _release(self, before, keep, level, evictable, notes, reasons):
        self.stand()
        if level == "gradual" and keep and all(_returnable(d) <= keep for d in before):
            reasons.append("it holds no more than it may keep")
            return
        if level != "gradual":
            evictable.evict(notes)
        if level == "urgent":
            import gc

            gc.collect()
        ordinals = [d["ordinal"] for d in before]
        for library in list(self._active()):
            if not library.flushes:
                notes.append("%s never gives back what it has reserved" % library.name)
                continue
            try:
                if level == "urgent":
                    library.clear()
                reason = library.flush(ordinals, keep, notes)
            except Exception as error:
                _complain("flushing " + library.name)
                reason = "%s: %s" % (library.name, _first_line(error))
            if reason:
                reasons.append(reason)


    # -- Snapshots

    def can_snapshot(self):
        return self._torch.no_snapshot() is None

    def refuse_snapshot(self, wanted):
        """Says why a snapshot would not be taken, before anything is begun."""
        reason = self._torch.no_snapshot()
        if reason is None and wanted["format"] == "segments":
            reason = self._torch.no_map()
            wait = self._maps_cost.wait()
            if reason is None and wait:
                raise _Refusal("rate_limited", "a map of its many blocks was taken just now: again in %.0f s" % (wait + 1))
        if reason is not None:
            raise _Refusal("unsupported", reason)

    def snapshot(self, wanted, out):
        """Writes a snapshot, and tells what it was and cost."""
        started = _monotonic()
        recording = self._torch.recording()
        whole, held = self._torch.take()
        notes = []
        if wanted["format"] == "segments":
            name = _MAP_SCHEMA
            self._write_map(whole["segments"], wanted["devices"], out)
            self._maps_cost.add(_monotonic() - started)
        else:
            with _imports:
                import pickle

            name = "pytorch"
            # What _dump_snapshot does: the C code hands over some 64 KiB at a time,
            # and other threads run in between.
            pickle.Pickler(out).dump(whole)
            if recording:
                notes.append("it holds the history that the program records")
            if held > 0.1:
                notes.append("the program stood still for %.1f s while PyTorch made it" % held)
        out.end()
        answer = {"format": name, "bytes": out.at, "ms": round((_monotonic() - started) * 1000, 3)}
        if notes:
            answer["notes"] = notes
        return answer

    def _write_map(self, segments, uuids, out):
        by_device = {}
        for segment in segments:
            by_device.setdefault(segment.get("device", 0), []).append(segment)
        chosen = []
        for ordinal in sorted(by_device)[:_MAX_DEVICES]:
            device = self._device(ordinal)
            if device is not None and (not uuids or device["uuid"] in uuids):
                chosen.append((device["uuid"], by_device[ordinal]))
        import json

        out.add(json.dumps({"schema": _MAP_SCHEMA, "time_ns": _time_ns()})[:-1] + ',"devices":[')
        comma = ""
        for uuid, segments in _within_bounds(chosen):
            left = segments.pop()
            out.add('%s{"uuid":%s,"left":%d,"segments":[' % (comma, json.dumps(uuid), left))
            comma = ""
            for segment, pieces in segments:
                out.add(comma + json.dumps(_described(segment, pieces), separators=(",", ":")))
                comma = ","
            out.add("]}")
            comma = ","
        out.add("]}")


def _reserved(device):
    return sum(a.get("reserved_bytes", 0) for a in device["allocators"])


def _returnable(device):
    return sum(a.get("returnable_bytes", a.get("cached_bytes", 0)) for a in device["allocators"])


# --- Snapshots -------------------------------------------------------------
#
# What a map holds, what maps may cost, and the file that they are written into.


def _within_bounds(chosen):
    """Cuts what does not fit a map: (uuid, [(segment, pieces), …, how many were left out])."""
    every = []
    for place, (_, segments) in enumerate(chosen):
        every.extend((place, segment, _pieces(segment)) for segment in segments)
    if sum(len(pieces) for _, _, pieces in every) > _MAP_BLOCKS:
        every = [(place, segment, _joined(pieces)) for place, segment, pieces in every]
    # The largest first: who looks for memory finds it there.
    every.sort(key=lambda one: -one[1].get("total_size", 0))
    kept, left, blocks = [[] for _ in chosen], [0] * len(chosen), 0
    full = False
    for count, (place, segment, pieces) in enumerate(every):
        blocks += len(pieces)
        full = full or count >= _MAP_SEGMENTS or blocks > _MAP_BLOCKS
        if full:
            left[place] += 1
        elif pieces:
            kept[place].append((segment, pieces))
    for (uuid, _), segments, out in zip(chosen, kept, left):
        segments.sort(key=lambda one: one[0].get("address", 0))
        yield uuid, segments + [out]


def _described(segment, pieces):
    """A segment in the words of the map; what is not so is left out."""
    told = {"address": segment.get("address", 0), "size": sum(size for size, _ in pieces)}
    if segment.get("segment_type"):
        told["pool"] = segment["segment_type"]
    if segment.get("stream"):
        told["stream"] = segment["stream"]
    if _is_private(segment):
        told["private"] = True
    if segment.get("is_expandable"):
        told["expandable"] = True
    told["blocks"] = pieces
    return told


class _Debt:
    """Limits what maps take of the program's time in the long run."""

    def __init__(self):
        self._owed, self._at = 0.0, 0.0

    def _pay(self):
        now = _monotonic()
        self._owed = max(0.0, self._owed - (now - self._at) * _MAP_SHARE)
        self._at = now

    def wait(self):
        """0, or in how many seconds another may be taken."""
        self._pay()
        return max(0.0, self._owed - _MAP_MOST) / _MAP_SHARE

    def add(self, took):
        self._pay()
        self._owed += took


class _Lent:
    """A monitor's file, which a snapshot is written into from its start."""

    def __init__(self, fd, wanted):
        self.at = 0
        self._fd = fd
        self._wanted = wanted  # tells whether anybody still waits for it
        self._held, self._size = [], 0

    def add(self, text):
        self._held.append(text)
        self._size += len(text)
        if self._size >= 65536:
            self.end()

    def end(self):
        """Writes what has been held back."""
        held, self._held, self._size = self._held, [], 0
        if held:
            self.write("".join(held).encode("ascii"))

    def write(self, content):
        """Writes all of it, or says why not: a disk may take a part, or be full."""
        rest = memoryview(content).cast("B")
        if self.at + len(rest) > _FILE_MOST:
            raise _Refusal("internal", "the snapshot is larger than %s" % _size(_FILE_MOST))
        while len(rest):
            if not self._wanted():
                raise _Refusal("internal", "nobody waits for the snapshot any more")
            try:
                written = os.pwrite(self._fd, rest[: 1 << 20], self.at)
            except OSError as error:
                raise _Refusal("internal", "after %s the file takes no more: %s" % (_size(self.at), os.strerror(error.errno)))
            if not written:
                raise _Refusal("internal", "after %s the file takes no more" % _size(self.at))
            rest = rest[written:]
            self.at += written
        return len(content)


# --- The program's own caches ----------------------------------------------


class _Evictable:
    """Caches that the program has registered to be emptied in a flush."""

    def __init__(self):
        self._entries = {}
        self._count = 0

    def register(self, name, priority, evict, size):
        if not callable(evict):
            raise TypeError("vramscope_probe: the third argument empties the cache: a callable, not %r" % (evict,))
        priority = float(priority)
        if not -1e9 <= priority <= 1e9:
            raise ValueError("vramscope_probe: no priority: %r" % priority)
        # What makes this one another than what had its name before: whoever
        # remembers that keeps nothing of the program's alive.
        self._count += 1
        self._entries[str(name)] = priority, evict, size, self._count

    def unregister(self, name):
        return self._entries.pop(str(name), None) is not None

    def _ordered(self):
        # list() of a dict's items is one step for the GIL: no lock is needed.
        return sorted(list(self._entries.items()), key=lambda item: (-item[1][0], item[0]))

    def told(self, sizes=None):
        """What hello tells of them, with their sizes as far as those are known."""
        every = []
        for name, (priority, _, size, which) in self._ordered()[:_MAX_EVICTABLE]:
            one = {"name": _clip(name), "priority": priority}
            held = sizes.told(name, size, which) if sizes is not None else None
            if held is not None:
                one["bytes"] = held
            every.append(one)
        return every

    def sizes(self):
        """(name, size, which) of each, as they were registered."""
        return [(name, size, which) for name, (_, _, size, which) in self._ordered()[:_MAX_EVICTABLE]]

    def foretell(self):
        if not self._entries:
            return ["nothing evictable is registered here: the ordinary flush"]
        lines = []
        for name, (_, _, size, _) in self._ordered():
            try:
                held = _held(size)
                lines.append("would empty %s" % name + (" (%s)" % _size(held) if held is not None else ""))
            except Exception as error:
                lines.append("would empty %s (its size: %s)" % (name, _first_line(error)))
        return lines

    def evict(self, notes):
        if not self._entries:
            notes.append("nothing evictable is registered here: the ordinary flush")
        for name, (_, evict, _, _) in self._ordered():
            try:
                evict()
                notes.append("emptied %s" % name)
            except Exception as error:
                _complain("emptying " + name)
                notes.append("%s was not emptied: %s" % (name, _first_line(error)))


def _held(size):
    """How many bytes a cache holds, by the program's own code; None where it does not tell."""
    held = size() if callable(size) else size
    if held is None:
        return None
    held = int(held)
    if not 0 <= held <= _MAX_BYTES:
        raise ValueError("no size: %d" % held)
    return held


class _Sizes:
    """How large the program's caches are, as it told last.

    Only the program's own code knows, and that may take its time, wait for a
    lock for ever, or raise: a thread of its own asks it, at most one, now and
    then, and only where a monitor wants to know. Whoever tells is not waited
    for again until that thread is back.
    """

    def __init__(self, stand):
        self._stand = stand  # puts a thread where the program's code may use a GPU
        self._known = {}  # name → (which registration, bytes or None, when); nothing of the program's
        self._asking = False
        self._back = None  # released when the thread is back
        self._leaving = False
        self._due = 0.0

    def told(self, name, size, which):
        if type(size) is int:
            return size if 0 <= size <= _MAX_BYTES else None
        whose, held, at = self._known.get(name, (None, None, 0.0))
        # What is asked for rarely, because it takes long, is not old before it is asked for again.
        return held if whose == which and _monotonic() - max(at, self._due) < _SIZES_OLD else None

    def leave(self, seconds):
        """The program ends: a thread that is still in its code then could take it down."""
        self._leaving = True
        if self._asking:
            self._back.acquire(True, seconds)

    def forget(self):
        """A flush has emptied some."""
        self._known = {}
        self._due = 0.0

    def ask(self, every):
        """Has the program asked, if it is time, and waits for it a moment."""
        every = [one for one in every if one[1] is not None and type(one[1]) is not int]
        if not every or self._asking or self._leaving or _monotonic() < self._due:
            return
        back = self._back = _thread.allocate_lock()
        back.acquire()
        self._asking = True
        try:
            _thread.start_new_thread(self._ask, (every, self._known, back))
        except RuntimeError:  # no thread is to be had, or the program ends
            self._asking = False
            self._due = _monotonic() + _SIZES_TIME
            return
        back.acquire(True, _SIZES_WAIT)

    def _ask(self, every, known, back):
        # It writes into what was current when it began: what a flush has made
        # old meanwhile is not told.
        began = _monotonic()
        try:
            self._stand()
            while every and not self._leaving:
                name, size, which = every.pop(0)
                held = None
                try:
                    held = _held(size)
                except Exception:
                    _complain("asking for the size of " + name)
                known[name] = which, held, _monotonic()
        except BaseException:
            _complain("asking for sizes")
        finally:
            now = _monotonic()
            if known is self._known:
                self._due = now + min(max(_SIZES_TIME, (now - began) * _SIZES_SHARE), _SIZES_MOST)
            self._asking = False
            back.release()


# --- The socket's place ----------------------------------------------------


def _start_time(pid):
    """Field 22 of /proc/PID/stat: with the pid it names a process for good."""
    with open("/proc/%s/stat" % pid, "rb") as file:
        return int(file.read().rpartition(b")")[2].split()[19])


def _socket_name(pid, start):
    return "%d-%d.sock" % (pid, start)


def _parse_name(name):
    pid, dash, start = name[:-5].partition("-")
    if name.endswith(".sock") and dash and pid.isdigit() and start.isdigit():
        if pid != "0" and _socket_name(int(pid), int(start)) == name:
            return int(pid), int(start)
    return None


class _Directory:
    """An open directory of sockets, its owner and mode checked.

    Everything goes through its descriptor: what happens to the path afterwards
    does not matter, and its length neither (a socket's address has 108 bytes).
    """

    def __init__(self, path, uid, make):
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        parent = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if make:
                info = os.fstat(parent)
                if info.st_uid != uid and not info.st_mode & 0o1000:
                    raise OSError("%s is another user's" % os.path.dirname(path))
                try:
                    os.mkdir(os.path.basename(path), 0o700, dir_fd=parent)
                except FileExistsError:
                    pass
            self.fd = os.open(os.path.basename(path), flags, dir_fd=parent)
        finally:
            os.close(parent)
        info = os.fstat(self.fd)
        if info.st_uid != uid or info.st_mode & 0o077:
            os.close(self.fd)
            raise OSError("%s is another user's, or open to others: refused" % path)
        self._uid = uid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def reach(self, name):
        return "/proc/self/fd/%d/%s" % (self.fd, name)

    def inode(self, name):
        info = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        if info.st_mode & 0o170000 != 0o140000 or info.st_uid != self._uid:
            raise OSError("%s is not our user's socket" % name)
        return info.st_ino

    def remove(self, name):
        try:
            os.unlink(name, dir_fd=self.fd)
        except FileNotFoundError:
            pass

    def dead(self, name):
        """Whether nobody listens on a socket of our user any more."""
        import socket

        try:
            self.inode(name)
        except OSError:
            return False
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.setblocking(False)
            client.connect(self.reach(name))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
        finally:
            client.close()
        return False

    def tidy(self):
        """Removes the sockets of processes that have died."""
        import time

        for name in os.listdir(self.fd)[:4096]:
            named = _parse_name(name)
            if named is None:
                continue
            try:
                if _start_time(named[0]) == named[1]:
                    continue
            except (OSError, ValueError, IndexError):
                pass  # nobody here has that pid; somebody in another namespace may
            try:
                # A socket that is bound and not yet listened on looks dead.
                age = time.time() - os.stat(name, dir_fd=self.fd, follow_symlinks=False).st_mtime
                if age > 10 and self.dead(name):
                    self.remove(name)
            except OSError:
                pass


class _Place:
    """Where this process listens."""

    def __init__(self, uid, pid, start):
        self._uid, self._pid = uid, pid
        self._name = _socket_name(pid, start)
        self._path = None
        self._inode = None
        self.listener = None

    def _directories(self):
        runtime = os.environ.get("XDG_RUNTIME_DIR", "")
        if os.path.isabs(runtime):
            yield os.path.join(os.path.normpath(runtime), "vramscope")
        yield "/tmp/vramscope-%d" % self._uid

    def bind(self):
        """Listens in the first directory that can be used. False: nowhere, or
        another probe of this process does."""
        for path in self._directories():
            try:
                with _Directory(path, self._uid, make=True) as directory:
                    directory.tidy()
                    listener = self._listen(directory)
                    if listener is None:
                        return False
                    self.close()
                    self.listener, self._path = listener, path
                    self._inode = directory.inode(self._name)
                    return True
            except OSError:
                _complain("listening in " + path)
        return False

    def _listen(self, directory):
        import errno
        import socket

        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.setblocking(False)
            try:
                listener.bind(directory.reach(self._name))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
                # This process's other probe, or the program before an exec,
                # which kept the pid and the start time.
                if not directory.dead(self._name):
                    listener.close()
                    return None
                directory.remove(self._name)
                listener.bind(directory.reach(self._name))
            os.chmod(self._name, 0o600, dir_fd=directory.fd)
            listener.listen(16)
            return listener
        except BaseException:
            listener.close()
            raise

    def standing(self):
        """Whether the name still leads here. $XDG_RUNTIME_DIR vanishes at the last logout."""
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                return directory.inode(self._name) == self._inode
        except OSError:
            return False

    def close(self):
        if self.listener is not None:
            self.listener.close()
            self.listener = None

    def leave(self):
        """Stops listening, and removes the name if it is still ours."""
        if self.listener is None or os.getpid() != self._pid:
            return
        self.close()
        try:
            with _Directory(self._path, self._uid, make=False) as directory:
                if directory.inode(self._name) == self._inode:
                    directory.remove(self._name)
        except OSError:
            pass  # gone already


# --- Requests --------------------------------------------------------------


def _integer(text):
    # int() of a quarter of a million digits would hold the GIL for a second.
    return int(text) if len(text) <= 20 and text != "-0" else float("inf")


def _real(text):
    return float(text) if len(text) <= 64 else 0.5  # no field takes it, whatever it is


def _no_number(text):
    raise ValueError("%s is not JSON" % text)


def _decode(line):
    """A request as a dict. What would make much of little is refused first."""
    import json

    if line.count(b",") > _MAX_MEMBERS or line.count(b"[") + line.count(b"{") > _MAX_DEPTH:
        raise _Refusal("bad_request", "too many members in one line")
    try:
        request = json.loads(
            line.decode("utf-8"), parse_int=_integer, parse_float=_real, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        raise _Refusal("bad_request", _clip(error))
    if not isinstance(request, dict):
        raise _Refusal("bad_request", "not a JSON object")
    return request


def _is_count(value, most):
    return type(value) is int and 0 <= value <= most


def _flush_request(request):
    level = request.get("level")
    if level not in ("gradual", "selective", "urgent"):
        raise _Refusal("bad_request", "level can be gradual, selective or urgent")
    keep, dry = request.get("keep_bytes", 0), request.get("dry_run", False)
    if not _is_count(keep, _MAX_BYTES):
        raise _Refusal("bad_request", "keep_bytes is not an amount of memory")
    if not isinstance(dry, bool):
        raise _Refusal("bad_request", "dry_run is true or false")
    return {"level": level, "keep_bytes": keep, "dry_run": dry, "devices": _chosen_devices(request)}


def _snapshot_request(request):
    name = request.get("format", "segments")
    if not isinstance(name, str):
        raise _Refusal("bad_request", "format is not a word")
    devices = _chosen_devices(request)
    if name not in ("segments", "pytorch"):
        raise _Refusal("unsupported", "a snapshot here is segments or pytorch, not %s" % _clip(ascii(name)))
    return {"format": name, "devices": devices}


def _chosen_devices(request):
    devices = request.get("devices")
    devices = [] if devices is None else devices
    if not isinstance(devices, list) or len(devices) > _MAX_DEVICES or not all(map(_is_uuid, devices)):
        raise _Refusal("bad_request", "devices are at most 64 UUIDs in NVML's form, as in stats")
    return devices


def _check_lent(fd):
    """Refuses a descriptor that a snapshot cannot be written into: a pipe that
    nobody reads would hold its thread."""
    import fcntl
    import stat

    if fd is None:
        raise _Refusal("bad_request", "a snapshot needs a descriptor to write to (SCM_RIGHTS)")
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise _Refusal("bad_request", "the descriptor is not a regular file or memfd")
    if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise _Refusal("bad_request", "the descriptor is not open for writing")


def _is_uuid(text):
    return (
        isinstance(text, str)
        and text[:4] in ("GPU-", "MIG-")
        and 4 < len(text) <= 96
        and all(c.isalnum() or c in "-/" for c in text)
        and text.isascii()
    )


class _Bucket:
    """Limits how often something may happen."""

    def __init__(self):
        self._spent, self._at = 0.0, 0.0

    def take(self):
        """0, or how many seconds it is until it may."""
        now = _monotonic()
        self._spent = max(0.0, self._spent - (now - self._at) / _FLUSH_EVERY)
        self._at = now
        over = self._spent + 1 - _FLUSH_BURST
        if over > 0:
            return over * _FLUSH_EVERY
        self._spent += 1
        return 0


class _Connection:
    """One monitor's connection. Its requests are answered in their order."""

    def __init__(self, sock):
        self.sock = sock
        self.incoming = bytearray()
        self.seen = 0  # up to here there is no newline
        self.outgoing = b""
        self.lent = None  # a descriptor that came with the present request
        self.waiting = False  # for a flush or a snapshot
        self.last = False  # nothing is read after what is to be written
        self.deadline = _monotonic() + _IDLE_TIME

    def next_line(self):
        """The next line that is not empty, or None. A line that is too long is a _Refusal."""
        while True:
            at = self.incoming.find(b"\n", self.seen)
            if at < 0:
                self.seen = len(self.incoming)
                if self.seen >= _MAX_LINE:
                    raise _Refusal("bad_request", "line of more than 256 KiB")
                return None
            if at >= _MAX_LINE:
                raise _Refusal("bad_request", "line of more than 256 KiB")
            line = bytes(self.incoming[:at])
            del self.incoming[: at + 1]
            self.seen = 0
            if line.strip():
                return line

    def read(self):
        """Reads what there is, and keeps a descriptor that came along. False at the end."""
        import socket
        import struct

        content, ancillary, _, _ = self.sock.recvmsg(65536, socket.CMSG_SPACE(16), _CMSG_CLOEXEC)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                for (fd,) in struct.iter_unpack("i", data[: len(data) // 4 * 4]):
                    self.drop_lent()
                    self.lent = fd
        self.incoming += content
        return bool(content)

    def drop_lent(self):
        """Closes a descriptor that has been used, or that nobody asked for."""
        fd, self.lent = self.lent, None
        if fd is not None:
            os.close(fd)

    def close(self):
        self.sock.close()
        self.drop_lent()

    def expect(self):
        """Sets how long the monitor is waited for."""
        now = _monotonic()
        if self.outgoing:
            self.deadline = now + _WRITE_TIME
        elif self.waiting:
            self.deadline = now + 3600
        else:
            self.deadline = now + (_LINE_TIME if self.incoming else _IDLE_TIME)


# --- The thread ------------------------------------------------------------


class _Agent:
    """The probe of one process: a thread that watches, then serves."""

    def __init__(self, evictable, started_by="import"):
        self.evictable = evictable
        self.started_by = started_by
        self.pid = os.getpid()
        self.uid = os.geteuid()
        self.started = False
        self._once = _thread.allocate_lock()
        self.serving = False
        self.at_once = False  # serve without waiting for a GPU to be used
        self._leaving = False
        self._place = None
        self._connections = {}
        self._finished = []  # (what, connection, answer) of flushes and snapshots
        self._under_way = set()  # which of the two
        self._lent = None  # the descriptor that a snapshot is written into
        self._bucket = _Bucket()
        self._wake = None
        self._ended = None

    def start(self, at_once=False):
        """Starts the thread, once. Whoever calls it is not held up."""
        self.at_once = self.at_once or at_once
        if not self._once.acquire(False):
            self._rouse()
            return
        self.started = True
        with _imports:
            # All that the thread needs, here rather than there: it is the program that imports.
            import atexit
            import errno  # noqa: F401
            import fcntl  # noqa: F401
            import gc  # noqa: F401
            import json  # noqa: F401
            import select  # noqa: F401
            import signal
            import socket
            import stat  # noqa: F401
            import struct  # noqa: F401

        global _monotonic, _time_ns
        from time import monotonic as _monotonic, time_ns as _time_ns

        self.start_time = _start_time("self")
        self.memory = _Memory()
        self._sizes = _Sizes(self.memory.stand)
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._ended = _thread.allocate_lock()
        self._ended.acquire()
        # The thread inherits the mask: signals are the program's. Those that a
        # fault in the thread itself raises must stay.
        faults = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT, signal.SIGTRAP}
        old = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - faults)
        try:
            _thread.start_new_thread(self._run, ())
        except BaseException:
            # Whoever asks again hears the reason again. The import hook does
            # not: to it, this has been tried.
            for end in self._wake:
                end.close()
            self._wake = self._ended = None
            self._once.release()
            raise
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, old)
        atexit.register(self.leave)

    def retire(self):
        """Never starts."""
        self.started = self._once.acquire(False)

    def _rouse(self):
        try:
            self._wake[1].send(b"!")
        except (OSError, AttributeError, TypeError):
            pass  # full: it is awake; closed: it has ended

    def leave(self):
        """The program ends: the thread must not be in the middle of something."""
        if os.getpid() != self.pid or self._ended is None:
            return
        self._leaving = True
        self._rouse()
        until = _monotonic() + _LEAVE_TIME
        self._ended.acquire(True, _LEAVE_TIME)
        self._sizes.leave(max(until - _monotonic(), 0))
        if self._place is not None:
            self._place.leave()

    def forget(self):
        """In a forked child: closes what is the parent's."""
        for connection in list(self._connections.values()):
            connection.close()
        if self._lent is not None:
            os.close(self._lent)
        if self._place is not None:
            self._place.close()
        for end in self._wake or ():
            end.close()

    # -- Life

    def _run(self):
        try:
            with open("/proc/thread-self/comm", "w") as file:
                file.write("vramscope")
        except OSError:
            pass  # a name to be told apart by in top, no more
        try:
            if self._watch():
                self._serve()
        except BaseException:
            _complain("at work")
        finally:
            try:
                self._close_all()
            except BaseException:
                _complain("at the end")
            self._ended.release()

    def _pause(self, seconds):
        import select

        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        if poll.poll(seconds * 1000):
            self._drain()

    def _drain(self):
        try:
            self._wake[0].recv(64)
        except OSError:
            pass  # nothing there

    def _watch(self):
        """Waits until a library uses a GPU. False where the program ends first."""
        begun = _monotonic()
        while not self._leaving:
            if self.at_once or self.memory.in_use():
                return True
            # The longer nothing happens, the less it is looked for.
            self._pause(0.5 if _monotonic() - begun < 60 else 2.0)
        return False

    def _serve(self):
        self.uid = os.geteuid()  # it may have changed since the start
        self._place = _Place(self.uid, self.pid, self.start_time)
        self.memory.preloaded.take_over()
        wait = _PLACE_TIME
        while not self._place.bind():
            # A full disk, a directory of another's: both may be mended.
            self._pause(wait)
            wait = min(wait * 2, 60.0)
            if self._leaving:
                return
        self.serving = True
        look = _monotonic() + _PLACE_TIME
        while not self._leaving:
            self._step(look)
            if _monotonic() >= look:
                if not self._place.standing():
                    self._place.bind()
                look = _monotonic() + _PLACE_TIME

    def _step(self, look):
        """Waits for something to do, and does it."""
        import select

        poll = select.poll()
        poll.register(self._wake[0], select.POLLIN)
        if self._place.listener is not None:
            poll.register(self._place.listener, select.POLLIN)
        until = look
        for fd, connection in self._connections.items():
            until = min(until, connection.deadline)
            if connection.outgoing:
                poll.register(fd, select.POLLOUT)
            else:
                # While it waits for its answer only its end is of interest.
                poll.register(fd, 0 if connection.waiting else select.POLLIN)
        ready = poll.poll(max(until - _monotonic(), 0) * 1000 + 1)
        for fd, _ in ready:
            if fd == self._wake[0].fileno():
                self._drain()
            elif fd in self._connections:
                connection = self._connections[fd]
                if connection.waiting and not connection.outgoing:
                    self._drop(connection)
                else:
                    self._attend(connection)
            elif self._place.listener is not None and fd == self._place.listener.fileno():
                self._accept()
        while self._finished:
            what, connection, answer = self._finished.pop(0)
            self._under_way.discard(what)
            if what == "flush":
                self._sizes.forget()
            connection.waiting = False
            if connection.sock.fileno() >= 0:
                self._send(connection, answer)
                self._attend(connection)
        now = _monotonic()
        for connection in list(self._connections.values()):
            if now >= connection.deadline:
                self._drop(connection)

    def _close_all(self):
        for connection in list(self._connections.values()):
            self._drop(connection)
        if self._place is not None:
            self._place.leave()
        for end in self._wake:
            end.close()

    # -- Connections

    def _accept(self):
        import socket
        import struct

        try:
            sock, _ = self._place.listener.accept()
        except OSError as error:
            if not isinstance(error, (BlockingIOError, ConnectionError)):
                # Out of descriptors, most likely: the program's own business,
                # which is not made worse by trying at full speed.
                self._pause(0.1)
            return
        sock.setblocking(False)
        refusal = None
        uid = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
        if uid not in (self.uid, 0):
            refusal = _Refusal("forbidden", "this is user %d's process; you are user %d" % (self.uid, uid))
        elif len(self._connections) >= _CONNECTIONS:
            refusal = _Refusal("busy", "%d monitors are connected already" % _CONNECTIONS)
        if refusal is None:
            self._connections[sock.fileno()] = _Connection(sock)
            return
        try:
            sock.send(_encode(_failure(None, refusal)))  # a new connection's buffer is empty
        except OSError:
            pass
        sock.close()

    def _drop(self, connection):
        self._connections.pop(connection.sock.fileno(), None)
        connection.close()

    def _attend(self, connection):
        """Writes what is to be written, else reads; then answers what has come."""
        # A deadline is for a whole line: more of the same line does not move it.
        moved = not connection.incoming
        try:
            if connection.outgoing:
                sent = connection.sock.send(connection.outgoing)
                connection.outgoing = connection.outgoing[sent:]
                if connection.outgoing:
                    return
                moved = True
            elif not connection.waiting:
                if not connection.read():
                    self._drop(connection)
                    return
        except BlockingIOError:
            pass  # nothing new; there may be something left
        except OSError:
            self._drop(connection)
            return
        while not (connection.outgoing or connection.waiting or connection.last):
            try:
                line = connection.next_line()
            except _Refusal as refusal:
                # Where the next request would begin is not known any more.
                connection.last = True
                self._send(connection, _failure(None, refusal))
                break
            if line is None:
                break
            moved = True
            self._answer(connection, line)
            connection.drop_lent()
        if connection.sock.fileno() < 0:
            return
        if connection.last and not connection.outgoing:
            self._drop(connection)
        elif moved:
            connection.expect()

    def _send(self, connection, answer):
        connection.outgoing += _encode(answer)
        try:
            sent = connection.sock.send(connection.outgoing)
            connection.outgoing = connection.outgoing[sent:]
        except BlockingIOError:
            pass
        except OSError:
            self._drop(connection)
            return
        connection.expect()

    # -- Answers

    def _answer(self, connection, line):
        number = None
        try:
            request = _decode(line)
            if _is_count(request.get("id"), _MAX_COUNT):
                number = request["id"]
            answer = self._do(connection, request, number)
        except _Refusal as refusal:
            answer = _failure(number, refusal)
        except Exception as error:
            _complain("answering")
            answer = _failure(number, _Refusal("internal", _first_line(error)))
        if answer is not None:
            self._send(connection, answer)

    def _do(self, connection, request, number):
        """The answer; None where it comes later."""
        command, proto = request.get("cmd", ""), request.get("proto")
        if not isinstance(command, str):
            raise _Refusal("bad_request", "cmd is not a word")
        if command == "hello" and proto is not None and not isinstance(proto, str):
            raise _Refusal("bad_request", "proto is not a word")
        if number is None:
            raise _Refusal("bad_request", "id is missing, or no integer from 0 to 2^53")
        if isinstance(proto, str) and proto and proto != _PROTOCOL and not proto.startswith(_PROTOCOL + "."):
            raise _Refusal("wrong_version", "this is " + _PROTOCOL)
        if command == "stats":
            return dict({"id": number, "ok": True}, **_public(self.memory.report()))
        if command == "hello":
            return dict({"id": number, "ok": True}, **self._hello())
        if command == "flush":
            self._flush(connection, _flush_request(request), number)
            return None
        if command == "snapshot":
            self._snapshot(connection, _snapshot_request(request), number)
            return None
        if command == "bye":
            connection.last = True
            return {"id": number, "ok": True}
        if command == "":
            raise _Refusal("bad_request", "cmd is missing")
        raise _Refusal("unknown_command", "%s has no command %s" % (_PROTOCOL, _clip(ascii(command))))

    def _hello(self):
        self._sizes.ask(self.evictable.sizes())
        evictable = self.evictable.told(self._sizes)
        able = ["flush"] if self.memory.can_flush() or evictable else []
        if self.memory.can_snapshot():
            able.append("snapshot")
        hello = {
            "proto": _PROTOCOL,
            "pid": self.pid,
            "starttime": self.start_time,
            "runtimes": self.memory.runtimes(),
            "capabilities": able,
        }
        if evictable:
            hello["evictable"] = evictable
        if self.started_by:
            hello["started_by"] = self.started_by
        return hello

    def _flush(self, connection, request, number):
        """Has a thread of its own flush: books can be read meanwhile."""
        if not self.memory.can_flush() and not self.evictable.told():
            names = " and ".join(r["name"] for r in self.memory.runtimes())
            message = names + " cannot give memory back" if names else "no library here holds GPU memory"
            raise _Refusal("unsupported", message)
        if "flush" in self._under_way:
            raise _Refusal("busy", "another flush is under way")
        wait = 0 if request["dry_run"] else self._bucket.take()
        if wait:
            raise _Refusal("rate_limited", "too many flushes: again in %.1f s" % wait)
        self._apart("flush", connection, number, lambda: self.memory.flush(request, self.evictable))

    def _snapshot(self, connection, wanted, number):
        """Has a thread of its own write it: books can be read meanwhile."""
        self.memory.refuse_snapshot(wanted)
        _check_lent(connection.lent)
        if "snapshot" in self._under_way:
            raise _Refusal("busy", "another snapshot is under way")
        out = _Lent(connection.lent, lambda: connection.sock.fileno() >= 0 and not self._leaving)

        def write():
            try:
                return self.memory.snapshot(wanted, out)
            finally:
                # In this order: a child that is forked in between must not
                # close what is another's by then.
                fd, self._lent = self._lent, None
                os.close(fd)

        self._lent, connection.lent = connection.lent, None
        try:
            self._apart("snapshot", connection, number, write)
        except _Refusal:
            fd, self._lent = self._lent, None
            os.close(fd)
            raise

    def _apart(self, what, connection, number, work):
        """Does what takes its time on a thread of its own."""
        self._under_way.add(what)
        connection.waiting = True
        try:
            _thread.start_new_thread(self._work, (what, connection, number, work))
        except RuntimeError as error:
            self._under_way.discard(what)
            connection.waiting = False
            raise _Refusal("internal", "a %s needs a thread: %s" % (what, _no_thread(error)))

    def _work(self, what, connection, number, work):
        try:
            answer = dict({"id": number, "ok": True}, **work())
        except _Refusal as refusal:
            answer = _failure(number, refusal)
        except BaseException as error:
            _complain("at a " + what)
            answer = _failure(number, _Refusal("internal", _first_line(error)))
        self._finished.append((what, connection, answer))
        self._rouse()


def _public(report):
    """A report without what is only ours."""
    devices = [{key: d[key] for key in d if key != "ordinal"} for d in report["devices"]]
    return {"time_ns": report["time_ns"], "devices": devices}


def _failure(number, refusal):
    return {"id": number, "ok": False, "error": {"code": refusal.code, "message": _clip(refusal)}}


def _encode(answer):
    import json

    line = json.dumps(answer, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"
    if len(line) > _MAX_LINE:
        line = _encode(_failure(answer.get("id"), _Refusal("internal", "the answer does not fit a line")))
    return line


# --- Getting in ------------------------------------------------------------


class _Looker:
    """Sees each import, finds nothing, and starts the thread at the right one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None and not _agent.started and name.partition(".")[0] in _LIBRARIES:
            _start()
        return None


_evictable = _Evictable()
# Whoever attaches says so in the module before it is executed: where a library
# is there already, that starts the thread.
_agent = _Agent(_evictable, globals().get("_started_by", "import"))


def _start(at_once=False, started_by=None):
    """Starts the probe; at once: it serves although nothing uses a GPU yet.

    started_by is how it got into the program: "run", "attach"; otherwise the
    program itself has imported it. Returns why it could not be, or None.
    """
    try:
        if started_by is not None and not _agent.started:
            _agent.started_by = started_by
        _agent.start(at_once)
    except Exception as error:
        _complain("starting")
        return _no_thread(error, ", or start the program with vramscope run")
    return None


def _after_fork():
    """In a forked child. It serves for itself only once it uses a GPU itself, which
    it cannot where its parent did: CUDA does not survive a fork."""
    global _agent, _imports
    try:
        _imports = _thread.RLock()
        old, _agent = _agent, _Agent(_evictable, _agent.started_by)
        old.forget()
        if old.serving:
            _agent.retire()
        elif old.started:
            _agent.start()
    except Exception:
        _complain("after a fork")


def _install():
    if not sys.platform.startswith("linux") or sys.version_info < (3, 8):
        return
    try:
        os.register_at_fork(
            before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork
        )
        sys.meta_path.insert(0, _Looker)
        if any(library in sys.modules for library in _LIBRARIES):
            _start()
    except Exception:
        _complain("getting in")


def register_evictable(name, priority, evict, size=None):
    """Registers a cache of the program that a flush may empty.

    A selective or urgent flush calls evict(), on a thread of the probe, and
    then gives back what that has freed. The highest priority goes first. size
    is how many bytes of GPU memory it holds, or a callable that tells: while a
    monitor looks on it is called every few seconds, on a thread of the probe,
    so it should be quick. A name that is registered already is replaced.
    """
    _evictable.register(name, priority, evict, size)
    return evict


def unregister_evictable(name):
    """Takes a cache back. False where there was none of that name."""
    return _evictable.unregister(name)


_install()
