# The probe needs the system's own functions: under gevent and eventlet a thread would be a greenlet
# of the program's event loop, and a lock and a poll would wait in that loop. So the probe uses posix
# for os, _socket for socket, _io.FileIO for open, and these:

_at_start = globals().get("_at_start") or {}  # what sitecustomize.py has kept of the program's start
_replaced = []  # functions that the program has replaced, and whose originals are unknown


def _original(module, name):
    """A function of a C module, as it was before the program replaced it. If that is unknown, the present
    function, whose name is added to _replaced."""
    for found in _candidates(module, name):
        if type(found) is type(len):
            return found
    _replaced.append(module + "." + name)
    return getattr(_library(module), name, None)


def _candidates(module, name):
    yield _at_start.get(module + "." + name)
    there = _library(module)
    yield getattr(there, name, None)
    try:
        gevent, eventlet = _module("gevent.monkey"), _module("__original_module_" + module)
        if gevent is not None:
            yield gevent.get_original(module, name)
        yield getattr(eventlet, name, None)
        yield getattr(there, "_original_" + name, None)  # debugpy's
    except Exception:
        _log_failure("looking for %s.%s" % (module, name))


_start_new_thread = _original("_thread", "start_new_thread")
_allocate_lock = _original("_thread", "allocate_lock")
_get_ident = _original("_thread", "get_ident")

# Libraries for tests replace time.time and time.monotonic: freezegun wherever it finds
# them, time-machine also CLOCK_REALTIME. They do not replace CLOCK_REALTIME_COARSE.
_clock = _at_start.get("time.clock_gettime", time.clock_gettime)
_clock_ns = _at_start.get("time.clock_gettime_ns", time.clock_gettime_ns)
_REALTIME_COARSE = 5


def _monotonic():
    return _clock(time.CLOCK_MONOTONIC)


def _time_ns():
    return _clock_ns(_REALTIME_COARSE)


_never_released = _allocate_lock()
_never_released.acquire()


def _sleep(seconds):
    """Sleeps; time.sleep may be gevent's. If this thread keeps the garbage collector off, the collector
    is on meanwhile, and other threads may fork."""
    depth = _no_fork.depth()
    was_off = depth and _CollectionOff.end()
    for _ in range(depth):
        _no_fork.release()
    _never_released.acquire(True, seconds)
    for _ in range(depth):
        _no_fork.acquire()
    if was_off:
        _CollectionOff.begin()


def _name_thread():
    """Names this thread in top, unless it is the program's first."""
    if _thread.get_native_id() == posix.getpid():
        return
    try:
        file = posix.open("/proc/thread-self/comm", posix.O_WRONLY | posix.O_CLOEXEC)
    except OSError:
        return
    try:
        posix.write(file, b"vramscope")
    finally:
        posix.close(file)


def _read(path):
    """The first 64 KiB of a file."""
    file = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return posix.read(file, 1 << 16)
    finally:
        posix.close(file)


class _ForkLock:
    """Held during a fork, and while the probe keeps the garbage collector off. A thread that holds the
    lock may take it again. It is no RLock, because eventlet replaces RLock."""

    def __init__(self):
        self._lock = _allocate_lock()
        self._owner, self._depth = None, 0

    def acquire(self, seconds=-1):
        if self._owner != _get_ident():
            if not self._lock.acquire(True, seconds):
                return False
            self._owner = _get_ident()
        self._depth += 1
        return True

    def depth(self):
        """Returns how often this thread has taken the lock."""
        return self._depth if self._owner == _get_ident() else 0

    def release(self):
        if self._owner != _get_ident():
            return  # not acquired: _before_fork gave up after _FORK_TIME
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


_no_fork = _ForkLock()


def _before_fork():
    _no_fork.acquire(_FORK_TIME)


def _after_fork_in_parent():
    _no_fork.release()


class _CollectionOff:
    """Keeps Python's garbage collector off for a moment, and other threads from forking.

    A snapshot makes an object for each block. That many new objects would make the collector look at
    every object of the program, which takes longer than the snapshot.

    The probe sets a first threshold that is never reached. A program that saves the thresholds
    meanwhile restores this one later: the next begin() and end() replace it by the last threshold of
    the program. The flag of gc.isenabled() stays as it is, because programs save and restore it more
    often.
    """

    _gc = _thresholds = None  # the program's thresholds while the collector is off, else None
    _last = 700, 10, 10  # the program's thresholds when the probe last turned the collector off

    def __enter__(self):
        _no_fork.acquire()
        self._began = self.begin()

    def __exit__(self, *_):
        if self._began:
            self.end()
        _no_fork.release()

    @staticmethod
    def begin():
        """Returns whether this call has turned the collector off. It makes as few objects as it can: the next one may start a collection."""
        gc = _CollectionOff._gc = _CollectionOff._gc or _library("gc")
        thresholds = gc.get_threshold()
        if thresholds[0] == _STOPPED:
            thresholds = _CollectionOff._last
        if not thresholds[0] or _CollectionOff._thresholds:
            return False
        _CollectionOff._thresholds = _CollectionOff._last = thresholds
        gc.set_threshold(_STOPPED)
        return True

    @staticmethod
    def end():
        """Returns whether the probe kept the collector off. It also runs in a forked child, because a fork waits for the probe no longer than _FORK_TIME."""
        thresholds, _CollectionOff._thresholds = _CollectionOff._thresholds, None
        if thresholds and _CollectionOff._gc.get_threshold()[0] == _STOPPED:  # else the program has set others
            _CollectionOff._gc.set_threshold(*thresholds)
        return thresholds is not None
