def _within_limits(chosen, large_page):
    """Limits a map's size. Yields (uuid, [(segment, pieces), …, number left out])."""
    every = []
    for place, (_, segments) in enumerate(chosen):
        every.extend((place, segment, _pieces(segment, large_page)) for segment in segments)
    if sum(len(pieces) for _, _, pieces in every) > _MAP_BLOCKS:
        every = [(place, segment, _joined(pieces)) for place, segment, pieces in every]
    # The largest segments are kept: they matter most to somebody who looks for memory.
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
    """A segment with the map's keys. Absent keys mean false or unknown."""
    described = {"address": segment.get("address", 0), "size": sum(size for size, _ in pieces)}
    if segment.get("segment_type"):
        described["pool"] = segment["segment_type"]
    if segment.get("stream"):
        described["stream"] = segment["stream"]
    if _is_private(segment):
        described["private"] = True
    if segment.get("is_expandable"):
        described["expandable"] = True
    described["blocks"] = pieces
    return described


class _MapBudget:
    """Limits the share of the program's time that maps, or searches for holders, take."""

    def __init__(self):
        self._spent, self._at = 0.0, 0.0

    def _update(self):
        now = _monotonic()
        self._spent = max(0.0, self._spent - (now - self._at) * _MAP_SHARE)
        self._at = now

    def wait(self):
        """Seconds until the next map or search may begin."""
        self._update()
        return max(0.0, self._spent - _MAP_MOST) / _MAP_SHARE

    def add(self, took):
        self._update()
        self._spent += took


class _SnapshotFile:
    """The file that a snapshot is written to, from offset 0."""

    def __init__(self, fd, wanted):
        self.offset = 0
        self._fd = fd
        self._wanted = wanted  # returns whether the monitor is still connected
        self._buffer, self._size = [], 0

    def add(self, text):
        self._buffer.append(text)
        self._size += len(text)
        if self._size >= 65536:
            self.flush()

    def check(self):
        if not self._wanted():
            raise _Refusal("internal", "the monitor has disconnected")

    def flush(self):
        buffered, self._buffer, self._size = self._buffer, [], 0
        if buffered:
            self.write("".join(buffered).encode("ascii"))

    def write(self, content):
        """Writes all of content or raises a _Refusal. A full disk may accept a part first."""
        rest = memoryview(content).cast("B")
        if self.offset + len(rest) > _FILE_MOST:
            raise _Refusal("internal", "the snapshot is larger than %s" % _size(_FILE_MOST))
        while len(rest):
            self.check()
            try:
                written = posix.pwrite(self._fd, rest[: 1 << 20], self.offset)
                reason = "nothing was written"
            except OSError as error:
                written, reason = 0, posix.strerror(error.errno)
            if not written:
                raise _Refusal("internal", "the snapshot's file failed after %s: %s" % (_size(self.offset), reason))
            rest = rest[written:]
            self.offset += written
        return len(content)
