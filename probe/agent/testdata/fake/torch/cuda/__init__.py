"""torch.cuda of the stand-in. Each thread has a current device, initially 0. set_device,
and any call that needs a context, creates that device's context, as in CUDA 12."""

import os
import threading
import time
import types

import torch

from .caching import CachingAllocator, OutOfMemoryError  # noqa: F401
from .device import Device
from .pool import PoolAllocator

_release = tuple(int(n) for n in torch.__version__.partition("+")[0].split(".")[:2])
_initialized = False
_initialised_in = None
_here = threading.local()
_devices = []
_allocators = []
capturing = False  # set by tests: a CUDA graph is being captured
history = False  # set by tests: torch.cuda.memory._record_memory_history()
snapshots = 0
traces = 3  # set by tests: the length of that history
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
            _allocators.append(CachingAllocator(device, _release, _conf()))
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
    flat = {}

    def add(prefix, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                add(prefix + "." + key if prefix else key, inner)
        else:
            flat[prefix] = value

    add("", memory_stats_as_nested_dict(device))
    return flat


def _snapshot(device=None):
    global snapshots
    snapshots += 1
    if slowly:
        time.sleep(slowly)
    whole = {
        "segments": [s for a in _allocators for s in a.snapshot(history)],
        "device_traces": [[{"action": "alloc", "addr": n, "size": 512, "stream": 0, "frames": [{"filename": "job.py"}]}
                           for n in range(traces if history else 0)] for _ in _allocators],
    }
    if _release >= (2, 1):
        whole["allocator_settings"] = {"PYTORCH_CUDA_ALLOC_CONF": _settings(), "max_split_size": -1}
    return whole


def memory_snapshot():
    return _snapshot()["segments"]


memory = types.SimpleNamespace(_snapshot=_snapshot, _set_allocator_settings=_set_allocator_settings)


def empty_cache():
    if not is_initialized():
        return
    _devices[current_device()].enter()
    if capturing and _release < (2, 8):
        raise RuntimeError("captures_underway.empty() INTERNAL ASSERT FAILED at CUDACachingAllocator.cpp:2967")
    for allocator in _allocators:
        if not (capturing or allocator.capturing):  # 2.8 and newer free nothing, and do not wait
            allocator.empty()


def synchronize(device):
    _devices[device].enter()
    if capturing:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
    if _devices[device].cuda is not None:
        assert _devices[device].cuda.cuCtxSynchronize() == 0


def ipc_collect():
    _devices[current_device()].enter()


if _release >= (2, 0):

    def get_allocator_backend():
        return "cudaMallocAsync" if "cudaMallocAsync" in _conf() else "native"


if _release >= (2, 1):
    torch._C._cuda_isHistoryEnabled = lambda: history
if _release > (2, 8):
    torch._C._accelerator_getAllocatorSettings = _settings  # 2.15 has it, 2.8 not
torch._C._cuda_hasPrimaryContext = lambda device: bool(_devices) and _devices[device].entered()
graphs = types.SimpleNamespace()
