"""A stand-in for PyTorch, for tests: torch.cuda's memory, and what the probe uses beside it.

FAKE_TORCH_VERSION is the release to imitate (default 2.6.0), with its keys and
functions. With FAKE_TORCH_DRIVER=1 it allocates through libcuda.so.1, so that
its memory appears in the driver's lists. Without a driver, FAKE_TORCH_GPUS and
FAKE_TORCH_TOTAL are the number of GPUs and their memory.
"""

import contextlib
import os
import pickle  # noqa: F401  as PyTorch does
import sys
import types

__version__ = os.environ.get("FAKE_TORCH_VERSION", "2.6.0") + "+cu124"
version = types.SimpleNamespace(hip=None, cuda="12.4")
_C = types.SimpleNamespace(DisableTorchFunctionSubclass=contextlib.nullcontext)

from . import cuda  # noqa: E402


class _Plans:
    def __init__(self):
        self.cleared = []

    def __getitem__(self, ordinal):
        return types.SimpleNamespace(clear=lambda: self.cleared.append(ordinal))


backends = types.SimpleNamespace(cuda=types.SimpleNamespace(cufft_plan_cache=_Plans()))


class Tensor:
    is_cuda = is_leaf = True
    requires_grad, grad = False, None

    def __init__(self, size, device):
        self._allocator, self._block, self._device = cuda._allocator(device), None, device
        self._block = self._allocator.take(size)
        cuda._record(device, self._block, size)

    def data_ptr(self):
        return self._block.address

    def numel(self):
        return self._block.asked

    def storage_offset(self):
        return 0

    def element_size(self):
        return 1

    def is_contiguous(self):
        return True

    def get_device(self):
        return self._device

    def record_stream(self, stream=None):
        """Notes that another stream uses the tensor: once freed, it is pending."""
        self._block.awaited = True

    def __del__(self, _ends=sys.is_finalizing):
        if self._block is not None and not _ends():
            self._allocator.give(self._block)


uint8 = "uint8"  # the only dtype


def empty(size, device=0, dtype=uint8):
    return Tensor(size, device)


from . import graphs as _graphs  # noqa: E402

from . import nn  # noqa: E402,F401

cuda.CUDAGraph, cuda.graph = _graphs.CUDAGraph, _graphs.graph


def ones(size, device=0):
    return _graphs.Numbers(1)
