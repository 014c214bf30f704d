class _Filtered(BaseException):
    """This thread has more seccomp filters than the probe may run under."""


class _Lost(BaseException):
    """The program has closed the probe's descriptors."""


def _count_filters(status):
    """Returns the number of seccomp filters of a thread, by its /proc status. Linux before
    5.9 does not count them: then it returns 1 if there are any."""
    for key in (b"\nSeccomp_filters:", b"\nSeccomp:"):
        _, found, rest = status.partition(key)
        if found:
            count = int(rest.split(None, 1)[0])
            return count if key == b"\nSeccomp_filters:" else min(count, 1)
    return 0  # a kernel without seccomp


def _own_filters():
    return _count_filters(_read("/proc/thread-self/status"))


def _too_many(filters):
    global _permitted
    if _permitted is None:
        _permitted = filters
    return filters > _permitted


def _refuse_filters():
    if _too_many(_own_filters()):
        raise RuntimeError("the program has seccomp filters, which might kill it for a system call of the probe")


def _permitted_filters(start):
    """Returns how many filters the probe may run under: as many as `vramscope run` had, or else as many
    as the container has. docs/protocol.md says more. None means as many as the first check finds."""
    if globals().get("_started_by") == "attach":
        return None  # vramscope has compared them with its own
    try:
        now = _count_filters(start["status"] or b"") if "status" in start else _own_filters()
    except OSError:
        return 0
    try:
        given = start["VRAMSCOPE_SECCOMP_FILTERS"] if "status" in start else os.environ["VRAMSCOPE_SECCOMP_FILTERS"]
        return min(now, int(given or b""))
    except (KeyError, ValueError):
        pass
    try:
        return min(now, _count_filters(_read("/proc/1/status")))
    except OSError:
        return now


class _Status:
    """The /proc status of the thread that made it.

    The program may have installed a filter that kills it for most system calls. So the file stays
    open, and reading it takes only lseek and read, which every Python program needs. They are
    called with the GIL held: another thread gets no time to install a filter between a check and
    the call that follows it.
    """

    def __init__(self):
        foreign = _Foreign()
        libc = foreign.open(None)
        self._seek = libc.get("lseek", foreign.long, foreign.int, foreign.long, foreign.int, with_gil=True)
        self._read = libc.get("read", foreign.long, foreign.int, foreign.text, foreign.ulong, with_gil=True)
        self._buffer = foreign.buffer(1 << 14)
        self._lock = _allocate_lock()
        self._thread = b"\nPid:\t%d\n" % _thread.get_native_id()
        self._offset = 0
        self._fd = posix.open("/proc/thread-self/status", posix.O_RDONLY | posix.O_CLOEXEC)
        self._inode = posix.fstat(self._fd).st_ino

    def lost(self):
        """Whether the program has closed the descriptor. Its number may be a file of the program's now."""
        return self._seek(self._fd, 0, 1) != self._offset

    def check(self):
        """Raises _Filtered if the thread must make no other system calls, _Lost if it must not use its descriptors."""
        with self._lock:
            if self.lost():
                raise _Lost
            self._seek(self._fd, 0, 0)
            self._offset = self._read(self._fd, self._buffer, len(self._buffer))
            status = self._buffer.raw[: max(self._offset, 0)]
        if self._thread not in status:
            raise _Lost
        if _too_many(_count_filters(status)):
            raise _Filtered

    def inherited(self):
        """In a forked child, which shares the offset: whether the descriptor is still the parent's."""
        try:
            return posix.fstat(self._fd).st_ino == self._inode
        except OSError:
            return False

    def close_inherited(self):
        posix.close(self._fd)

    def close(self):
        if not self.lost():
            posix.close(self._fd)
