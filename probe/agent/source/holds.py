# The states of a block in a snapshot.
_LIVE, _PENDING, _WORKSPACE = range(3)


class _Holds:
    """What holds the memory of PyTorch's own allocator, by class.

        holders ──→ address of a storage ──┐
        a snapshot's blocks by address ────┼─→ bytes by class: each block once, its whole size,
        those at the end of the same step ─┘   so that the classes sum to what is allocated

    Blocks that no known object holds and that are gone by the end of the step were the step's:
    activations. The end of a step is known if PyTorch's hook counts steps. At that end gradients are
    read on the program's thread. If all blocks of an optimizer's gradients were there before, they are
    gradients. If only some were, the step was still computing them, or had data of its own there.

    A snapshot holds the GIL. If it would do so for more than _HOLD_MOST, or if memory history is
    recorded, none is taken. A block's size is then that of its storage, rounded up to 512 bytes as
    PyTorch does. A block of more than 1 MiB may be up to 1 MiB larger: that part stays unnamed, and so
    does what the end of a step would show.
    """

    def __init__(self, runtime, holders, steps):
        self._runtime, self._holders, self._steps = runtime, holders, steps
        self.budget = _MapBudget()

    def answer(self, uuids, uuid_of, wanted):
        """Returns the answer. wanted() is called now and then, and may raise."""
        self._holders.watch()
        steps = self._steps.register()
        if steps and not self._steps.living() and (self._finds_nothing() or self._holders.trains):
            met = set()  # the wait ends when one of these optimizers makes its second step: by then all have made one
            self._steps.wait(lambda optimizer: id(optimizer) in met or met.add(id(optimizer)), wanted, _STEP_WAIT)
        began, notes = _clock(time.CLOCK_THREAD_CPUTIME_ID), []
        with _CollectionOff():
            moving, found, blocks, figures = self._read(_Pace())
        answer = {"time_ns": _time_ns(), "moving": moving, "exact": blocks is not None, "notes": notes, "devices": []}
        self.budget.add(_clock(time.CLOCK_THREAD_CPUTIME_ID) - began)
        if moving:
            notes.append("memory came and went while it was looked at: only what stayed is named")
        ends = self._ends(wanted) if steps and blocks is not None else ()
        if blocks is None:
            notes.append("sizes are those of tensors: a snapshot of the blocks would have paused the program, so gradients and activations are unnamed")
        elif not ends:
            notes.append("no step of an optimizer ended meanwhile: gradients and activations stay unnamed")
        with _CollectionOff():
            _sleep(_PAUSE)
            pace = _Pace()  # the wait for a step is no part of the search
            for ordinal, a in figures[:_MAX_DEVICES]:
                uuid = uuid_of(ordinal)
                if uuid is not None and (not uuids or uuid in uuids) and "allocated_bytes" in a:
                    parts = _by_sizes(ordinal, a, found, pace) if blocks is None else _by_blocks(ordinal, blocks, found, ends, pace)
                    answer["devices"].append({"uuid": uuid, "allocated_bytes": sum(part["bytes"] for part in parts), "parts": parts})
            names = self._holders.names(found)
            found.free()
        notes.extend("the variable %s has %s" % (name, "%.1fG" % (size / 2**30) if size >= 1 << 30 else "%dM" % (size >> 20)) for size, name in names)
        return answer

    def _finds_nothing(self):
        with _CollectionOff():
            found = self._holders.walk(_Pace())
            nothing = not found
            found.free()
        return nothing

    def _read(self, pace):
        """Returns (whether memory came and went, what is held, the blocks or None, the devices' figures).

        Two walks, before and after the reading, should find the same. If they do not after _WALKS
        tries, it returns what both have found.
        """
        found, walked = _Found(), self._holders.walk(pace)
        for _ in range(_WALKS):
            found.free()
            _sleep(_PAUSE)  # so that the reading is a hold of its own
            blocks, figures = _when_free(self._now)
            again, moving = self._holders.walk(pace), False
            for n, part in enumerate(again.parts):
                pace.breathe(16)
                before = walked.parts[n]
                walked.parts[n] = stayed = {address: entry for address, entry in part.items() if before.get(address) == entry}
                moving = moving or not len(before) == len(part) == len(stayed)
            found, walked = walked, again
            if not moving:
                break
        walked.free()
        return moving, found, blocks, figures

    def _now(self):
        runtime = self._runtime
        figures = list(runtime.stats(False))
        cost = runtime.least_snapshot_cost([runtime._memory_stats(runtime.initialised(), ordinal) for ordinal, _ in figures])
        return None if cost > _HOLD_MOST or runtime.recording() else self._blocks(), figures

    def _blocks(self):
        """{address: _entry()} of all allocated blocks."""
        runtime, sizes, blocks = self._runtime, _workspaces(), {}
        with _CollectionOff():
            for segment in runtime._take_snapshot(runtime.initialised())["segments"]:
                address = segment["address"]
                for block in () if runtime.asleep(segment) else segment.get("blocks", ()):
                    size, state = block.get("size", 0), block.get("state")
                    if state != "inactive":
                        kind = _PENDING if state != "active_allocated" else _WORKSPACE if block.get("requested_size") in sizes else _LIVE
                        blocks[address] = _entry(kind, size, segment.get("device", 0))
                    address += size
            segment = block = None
        return blocks

    def _ends(self, wanted):
        """Returns the blocks and gradients at the end of a step, for up to _MAX_ENDS optimizers."""
        seen, ends = set(), []

        def at_end(optimizer):
            if id(optimizer) not in seen:
                seen.add(id(optimizer))
                ends.append((self._blocks(), _gradients(optimizer)))
            return len(ends) >= _MAX_ENDS or seen.issuperset(map(id, self._steps.living()))

        if self._steps.living():
            self._steps.wait(at_end, wanted, _STEP_WAIT)
        return ends


def _workspaces():
    """The sizes of cuBLAS's workspaces, which PyTorch allocates, as far as this release reports them."""
    c = _attribute(_module("torch"), "_C")
    asked = (getattr(c, "_cuda_getCublas%sWorkspaceSize" % which, None) for which in ("", "Lt"))
    return {ask() for ask in asked if ask is not None} - {0}


def _none_of(names):
    return {name: {"class": name, "bytes": 0, "blocks": 0} for name in names}


def _by_sizes(ordinal, a, found, pace):
    """A device's classes by its figures and by the sizes of storages."""
    parts = _none_of([name for name in _CLASSES if name != "gradients"] + ["pending", "unnamed"])
    pending = parts["pending"]["bytes"] = a.get("pending_bytes", 0)
    left = a["allocated_bytes"] - pending
    del parts["pending"]["blocks"], parts["unnamed"]["blocks"]
    for one in found.parts:
        pace.breathe(16)
        for kind, size, device in map(_opened, one.values()):
            size = size + 511 & ~511
            if device == ordinal and size <= left:
                left -= size
                parts[_CLASSES[kind]]["bytes"] += size
                parts[_CLASSES[kind]]["blocks"] += 1
    parts["unnamed"]["bytes"] = left
    return list(parts.values())


def _by_blocks(ordinal, blocks, found, ends, pace):
    """A device's classes by its blocks."""
    parts = _none_of([name for name in _CLASSES if ends or name != "gradients"] + ["activations"] * bool(ends) + ["workspaces", "pending", "unnamed"])
    inside, gradients, passing = _inside(blocks, found.whole()), set(), set()
    for end, read in ends:
        held = _inside(end, read)
        (gradients if all(blocks.get(address) == end[address] for address in held) else passing).update(held)
    for address, entry in blocks.items():
        pace.breathe()
        state, size, device = _opened(entry)
        if device != ordinal:
            continue
        kind = _opened(inside[address])[0] if address in inside else None
        name = "unnamed" if state == _LIVE else "workspaces"
        if state == _PENDING:
            name = "pending"
        elif kind != _PARAMETERS and address in gradients:
            name = "gradients"
        elif kind is not None and kind < _VARIABLES:
            name = _CLASSES[kind]
        elif address in passing or any(end.get(address) != entry for end, _ in ends):
            name = "activations"
        elif kind is not None:
            name = "variables"
        parts[name]["bytes"] += size
        parts[name]["blocks"] += 1
    return list(parts.values())


def _inside(blocks, found):
    """Returns {address of a block: the entry of a storage in it, of the first class that has one}."""
    inside, starts, n = {}, sorted(blocks), 0
    for address in sorted(found):
        while n < len(starts) and starts[n] <= address:
            n += 1
        start = starts[n - 1] if n else None
        if n and address < start + _opened(blocks[start])[1]:
            inside[start] = min(found[address], inside.get(start, found[address]))
    return inside
