class _Busy(_Refusal):
    """To answer, the probe would wait for an allocator's lock while it holds the GIL."""

    def __init__(self):
        super().__init__("busy", "another thread is inside an allocation or a release of GPU memory: try again")


def _when_free(ask, seconds=_BUSY_TIME):
    """Calls ask() again for up to this many seconds while it raises _Busy."""
    until = _monotonic() + seconds
    while True:
        try:
            return ask()
        except _Busy:
            if _monotonic() >= until:
                raise
        _sleep(0.02)


class _PyTorchLocks:
    """The locks of PyTorch's own allocator: one for each device, looked at but never taken.

    memory_stats and _snapshot wait for a lock while they hold the GIL. A thread inside
    cudaMalloc or cudaFree holds that lock, for seconds at worst, and all other threads
    would stand still meanwhile. So the probe first looks at the lock: it reads one
    integer, with the GIL, right before the call. A thread that takes the lock within
    these microseconds and then is slow still delays the others.

        libc10_cuda.so: allocator → NativeCachingAllocator { …, vector device_allocator, … }
                                                                   ↓ one for each device
                                      DeviceCachingAllocator { recursive_mutex, DeviceStats, … }

    The vector's offset differs between releases. So the vector is searched for, once: it
    is the only one whose pointers all lead to recursive mutexes. The search reads
    /proc/self/mem, where a wrong address is an error and no crash. If it finds no such
    vector, PyTorch is asked at any time.

    Sources: c10/cuda/CUDACachingAllocator.cpp (2.0 to 2.15); struct __pthread_mutex_s
    of glibc, sysdeps/nptl/bits/struct_mutex.h.
    """

    _SYMBOL = "_ZN3c104cuda20CUDACachingAllocator9allocatorE"
    _SEARCHED = 64 << 10  # bytes of the allocator; the vector is at 22,584 in 2.8 and 2.15
    _TRIES = 5  # at intervals of a millisecond: most allocations hold the lock for a shorter time

    def __init__(self):
        self._locks = None  # not searched for yet

    def pass_by(self):
        """Returns when no device's lock is held. Raises _Busy if one stays held for some milliseconds."""
        if self._locks is None:
            try:
                self._locks = self._search()
            except Exception:
                _log_failure("looking for the locks of PyTorch's allocator")
                self._locks = ()
        for _ in range(self._TRIES):
            if not any(lock.value for lock in self._locks):
                return
            _sleep(0.001)
        raise _Busy

    def free(self):
        """Whether no lock is held; False if that is unknown. It waits for nothing."""
        return bool(self._locks) and not any(lock.value for lock in self._locks)

    def _search(self):
        foreign = _Foreign()
        try:
            library = foreign.open("libc10_cuda.so", posix.RTLD_NOLOAD | posix.RTLD_NOW)
            allocator = foreign.pointer.in_dll(library, self._SYMBOL).value
        except (OSError, ValueError):
            return ()  # before 2.0
        memory = posix.open("/proc/self/mem", posix.O_RDONLY | posix.O_CLOEXEC)
        try:

            def words(address, size):
                content = posix.pread(memory, size, address)
                return memoryview(content[: len(content) // 8 * 8]).cast("Q").tolist()

            def is_lock(address):
                """A recursive mutex is: lock, count, owner, users, kind 1, spins, elision, list."""
                lock, _, owner, _, *rest = memoryview(posix.pread(memory, 40, address)).cast("i")
                return rest == [1, 0, 0, 0, 0, 0] and lock in (0, 1, 2) and owner >= 0

            found = []
            inside = words(allocator, self._SEARCHED)
            for begin, end, capacity in zip(inside, inside[1:], inside[2:]):
                if not 0 < end - begin <= 8 * _MAX_DEVICES or begin % 8 or end % 8 or end > capacity:
                    continue
                try:
                    devices = words(begin, end - begin)
                    if all(device % 8 == 0 and is_lock(device) for device in devices):
                        found.append(devices)
                except (OSError, OverflowError, ValueError):
                    pass  # no pointers
        finally:
            posix.close(memory)
        return [foreign.int.from_address(device) for device in found[0]] if len(found) == 1 else ()
