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
