class _Evictable:
    """The caches that the program has registered for flushes to empty."""

    def __init__(self):
        self._entries = {}
        self._count = 0

    def register(self, name, priority, evict, size):
        if not callable(evict):
            raise TypeError("vramscope_probe: evict is not callable: %r" % (evict,))
        priority = float(priority)
        if not -1e9 <= priority <= 1e9:
            raise ValueError("vramscope_probe: priority out of range: %r" % priority)
        # _Sizes distinguishes registrations of one name by this number. A reference to the
        # program's objects would keep them alive.
        self._count += 1
        self._entries[str(name)] = priority, evict, size, self._count

    def unregister(self, name):
        return self._entries.pop(str(name), None) is not None

    def _ordered(self):
        # list() of a dict's items is atomic under the GIL: no lock is needed.
        return sorted(list(self._entries.items()), key=lambda item: (-item[1][0], item[0]))

    def describe(self, sizes=None):
        """The caches as hello lists them, with the sizes that are known."""
        every = []
        for name, (priority, _, size, number) in self._ordered()[:_MAX_EVICTABLE]:
            one = {"name": _clip(name), "priority": priority}
            known = sizes.known(name, size, number) if sizes is not None else None
            if known is not None:
                one["bytes"] = known
            every.append(one)
        return every

    def sizes(self):
        """(name, size, registration number) of each."""
        return [(name, size, number) for name, (_, _, size, number) in self._ordered()[:_MAX_EVICTABLE]]

    def preview(self):
        """A dry run's notes. The monitor recognises the notes about caches by "would empty "."""
        if not self._entries:
            return [_NO_EVICTABLE]
        notes = []
        for name, (_, _, size, _) in self._ordered():
            try:
                known = _cache_size(size)
                notes.append("would empty %s" % name + (" (%s)" % _size(known) if known is not None else ""))
            except Exception as error:
                notes.append("would empty %s (size unknown: %s)" % (name, _first_line(error)))
        return notes

    def evict(self, notes):
        if not self._entries:
            notes.append(_NO_EVICTABLE)
        for name, (_, evict, _, _) in self._ordered():
            try:
                evict()
                notes.append("emptied %s" % name)
            except Exception as error:
                _log_failure("emptying " + name)
                notes.append("%s was not emptied: %s" % (name, _first_line(error)))


_NO_EVICTABLE = "no evictable caches are registered"


def _cache_size(size):
    """Returns the size of a cache in bytes, or None if it is unknown. May call the program's code."""
    count = size() if callable(size) else size
    if count is None:
        return None
    count = int(count)
    if not 0 <= count <= _MAX_BYTES:
        raise ValueError("not a size: %d" % count)
    return count


class _Sizes:
    """The last known sizes of the program's caches.

    A size may come from a function of the program. Such a function may be slow, wait for
    a lock for ever, or raise. So a thread of the probe calls it, only while a monitor
    asks, and there is one such thread at a time.
    """

    def __init__(self, agent):
        self._agent = agent
        self._known = {}  # name → (registration number, bytes or None, when)
        self._asking = False
        self._stopping = False
        self._due = 0.0

    def known(self, name, size, number):
        if type(size) is int:
            return size if 0 <= size <= _MAX_BYTES else None
        registration, count, at = self._known.get(name, (None, None, 0.0))
        # Slow sizes are asked for rarely, so a size ages only from the time when it is due again.
        return count if registration == number and _monotonic() - max(at, self._due) < _SIZES_MAX_AGE else None

    def stop(self):
        self._stopping = True

    def invalidate(self):
        """Drops all sizes, after a flush."""
        self._known = {}
        self._due = 0.0

    def refresh(self, every):
        """Starts the thread that asks for sizes if they are due, and waits for it up to _SIZES_WAIT."""
        every = [one for one in every if one[1] is not None and type(one[1]) is not int]
        if not every or self._asking or self._stopping or _monotonic() < self._due:
            return
        done = _allocate_lock()
        done.acquire()
        self._asking = True
        try:
            self._agent.start_thread(self._ask, every, self._known, done)
        except RuntimeError:  # out of threads, or the program is exiting
            self._asking = False
            self._due = _monotonic() + _SIZES_TIME
            return
        done.acquire(True, _SIZES_WAIT)

    def _ask(self, every, known, done):
        # known is self._known as it was when the thread started. After invalidate() it is not read.
        began = _monotonic()
        try:
            self._agent.memory.prepare_thread()
            while every and not self._stopping:
                name, size, number = every.pop(0)
                count = None
                try:
                    count = _cache_size(size)
                except Exception:
                    _log_failure("asking for the size of " + name)
                known[name] = number, count, _monotonic()
        except BaseException:
            _log_failure("asking for sizes")
        finally:
            now = _monotonic()
            if known is self._known:
                self._due = now + min(max(_SIZES_TIME, (now - began) * _SIZES_FACTOR), _SIZES_MAX_TIME)
            self._asking = False
            done.release()
