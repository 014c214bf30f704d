"""torch.cuda of the stand-in. Each thread has a current device, initially 0. set_device,
and any call that needs a context, creates that device's context, as in CUDA 12."""

import contextlib
import itertools
import os
import sys
import threading
import time
import types

import torch

from . import figures, snapshot
from .caching import CachingAllocator, OutOfMemoryError, UncachedAllocator  # noqa: F401
from .device import Device
from .pool import PoolAllocator

_release = tuple(int(n) for n in torch.__version__.partition("+")[0].split(".")[:2])
_initialized = False
_queued_calls = []  # like PyTorch's: called at the end of the initialisation, with a traceback
_initialised_in = None
_here = threading.local()
_devices = []
_allocators = []
capturing = False  # set by tests: a CUDA graph is being captured
history = False  # set by tests, and by torch.cuda.memory._record_memory_history()
calls = []  # the calls of torch.cuda.memory._record_memory_history()
snapshots = 0
traces = 0  # set by tests: the least length of the recorded history
slowly = 0  # set by tests: seconds that a snapshot takes
settings = None  # as last set by the program


def _conf():
    return os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")


def _settings():
    return _conf() if settings is None else settings


def _set_allocator_settings(text):
    global settings
    init()
    settings = text
    for allocator in _allocators:
        allocator.configure(text)


def is_available():
    return True


def is_initialized():
    return _initialized and _initialised_in == os.getpid()


def init():
    global _initialized, _initialised_in
    if is_initialized():
        return
    if _initialized:
        raise RuntimeError("Cannot re-initialize CUDA in forked subprocess.")
    _devices.extend(Device.all(_release))
    for device in _devices:
        if "cudaMallocAsync" in _conf():
            _allocators.append(PoolAllocator(device, _release))
        else:
            kind = UncachedAllocator if os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING") else CachingAllocator
            _allocators.append(kind(device, _release, _conf()))
    for call, _ in _queued_calls:
        call()
    _initialized, _initialised_in = True, os.getpid()


def device_count():
    return len(_devices) or int(os.environ.get("FAKE_TORCH_GPUS", "2"))


def current_device():
    return getattr(_here, "device", 0)


def set_device(device):
    init()
    _here.device = device
    _devices[device].enter()


def contexts():
    """The devices with a context, for tests."""
    return [d.ordinal for d in _devices if d.entered()]


def get_device_properties(device):
    init()
    return _devices[device].properties


def _allocator(device):
    init()
    _devices[device].enter()
    return _allocators[device]


def memory_stats_as_nested_dict(device):
    return _allocators[device].stats() if is_initialized() else {}


def memory_stats(device):
    return figures.flat(memory_stats_as_nested_dict(device))


def reset_peak_memory_stats(device):
    _allocators[device].reset_peaks()


def _snapshot(device=None):
    global snapshots
    snapshots += 1
    if slowly:
        time.sleep(slowly)
    segments = [s for a in _allocators for s in a.snapshot(history)]
    events = [[snapshot.event(_release, n, size) for n, size in enumerate(a.events)] for a in _allocators]
    return snapshot.whole(_release, segments, [e + e[-1:] * (traces - len(e)) for e in events], _settings())


def _record(device, block, size):
    """Notes an allocation, if history is recorded."""
    if history and getattr(block, "segment", None):  # of the caching allocator
        block.recorded = _frames() if calls else snapshot.FRAMES
        _allocators[device].events.append((size, block.address, block.recorded) if calls else size)


def _frames():
    """The lines of the program, innermost first; none if the history is recorded without lines."""
    frames, frame = [], sys._getframe(4) if calls[-1]["context"] else None  # behind torch.empty
    while frame is not None:
        frames.append({"filename": frame.f_code.co_filename, "line": frame.f_lineno, "name": frame.f_code.co_name})
        frame = frame.f_back
    return frames


def _unsupported(what):
    if "cudaMallocAsync" in _conf():
        raise RuntimeError("cudaMallocAsync does not yet support %s. If you need it, please file an issue describing your use case." % what)


def _history_enabled():
    _unsupported("recordHistory")
    return history


def _set_history(enabled, options):
    global history
    _unsupported("recordHistory")
    history = enabled is not None
    calls.append(dict(options, enabled=enabled))
    if not history:
        for allocator in _allocators:
            allocator.events.clear()


def _record_memory_history(enabled="all", context="all", stacks="all", max_entries=1 << 63, **more):
    assert not more or _release > (2, 8), more
    torch._C._cuda_record_memory_history(enabled, dict(more, context=context, stacks=stacks, max_entries=max_entries))


_record_memory_history.__signature__ = "skip_actions" if _release > (2, 8) else ""


def memory_summary(device):
    return "|  PyTorch CUDA memory summary, device ID %d  |" % device


class MemPool:
    """A pool of the program's own."""

    _numbers = itertools.count(1)

    def __init__(self):
        init()
        _unsupported("createOrIncrefPool")
        self.id = 0, next(self._numbers)


@contextlib.contextmanager
def use_mem_pool(pool):
    for allocator in _allocators:
        allocator.private = pool.id
    try:
        yield
    finally:
        for allocator in _allocators:
            allocator.private = 0, 0


class Stream:
    pass


def memory_snapshot():
    return _snapshot()["segments"]


memory = types.SimpleNamespace(_snapshot=_snapshot, _set_allocator_settings=_set_allocator_settings,
                               _record_memory_history=_record_memory_history)


def empty_cache():
    if is_initialized():
        torch._C._cuda_emptyCache()


def _empty_cache():
    _devices[current_device()].enter()
    if capturing and _release < (2, 8):
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED at CUDACachingAllocator.cpp:2967")
    if "cudaMallocAsync" in _conf():
        synchronize(current_device())
    # During a capture, 2.8 does not wait for the device, and frees none of its memory. In 2.15 this is
    # so only in the capturing thread.
    concerned = _release <= (2, 8) or threading.get_ident() == threading.main_thread().ident
    for allocator in _allocators:
        if not (concerned and (capturing or allocator.capturing)):
            allocator.empty()


def synchronize(device):
    _devices[device].enter()
    if capturing:
        raise _devices[device].error("CUDA error: operation not permitted when stream is capturing")
    if _devices[device].cuda is not None:
        assert _devices[device].cuda.cuCtxSynchronize() == 0


def ipc_collect():
    _devices[current_device()].enter()


if _release >= (2, 0):

    def get_allocator_backend():
        return "cudaMallocAsync" if "cudaMallocAsync" in _conf() else "native"


def _attach_out_of_memory_observer(observer):
    init()  # as PyTorch does
    _unsupported("attachOutOfMemoryObserver")
    for allocator in _allocators:
        allocator.observers.append(observer)


if _release >= (2, 0):
    torch._C._cuda_attach_out_of_memory_observer = _attach_out_of_memory_observer
if _release >= (2, 1):
    torch._C._cuda_isHistoryEnabled = _history_enabled
    torch._C._cuda_record_memory_history = _set_history
if _release > (2, 8):
    torch._C._accelerator_getAllocatorSettings = _settings  # 2.15 has it, 2.8 not
torch._C._cuda_emptyCache, torch._C._cuda_resetAccumulatedMemoryStats = _empty_cache, lambda device: None
torch._C._cuda_memoryStats = memory_stats_as_nested_dict
torch._C._cuda_hasPrimaryContext = lambda device: bool(_devices) and _devices[device].entered()
graphs = types.SimpleNamespace()
