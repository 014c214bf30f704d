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
