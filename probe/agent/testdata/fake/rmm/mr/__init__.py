"""rmm.mr of the stand-in: resources and adaptors, one stack per device."""

_per_device = {}


class StatisticsResourceAdaptor:
    def __init__(self, upstream, current):
        self.upstream_mr = upstream
        self.allocation_counts = {"current_bytes": current, "peak_bytes": current}


class PoolMemoryResource:
    def __init__(self, size):
        self._size = size

    def pool_size(self):
        return self._size


class CudaAsyncMemoryResource:
    def __init__(self, handle):
        self._handle = handle

    def pool_handle(self):
        return self._handle


def set_per_device_resource(device, resource):
    _per_device[device] = resource


def get_per_device_resource(device):
    return _per_device[device]
