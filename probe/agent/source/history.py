class _History:
    """Records PyTorch's memory history, with the lines of the program that allocate, for as long as a monitor has
    asked. Blocks that are allocated after the end of the last step get no lines. After the snapshot, or an error, the
    recording is off. A history that the program records itself, or begins or ends meanwhile, is left as it is.

    Source: torch/csrc/cuda/memory_snapshot.cpp, _record_memory_history (2.1 to 2.15).
    """

    def __init__(self, runtime, steps):
        self._runtime, self._steps = runtime, steps
        self._calling, self._theirs = None, False  # the thread in which the probe sets the recording; whether the program has set it
        self._left, self.whole = 0, None  # how many errors' files were written; the directory for a history recorded from the start
        self._emptied = None  # {ordinal: [number of allocations and frees when the program emptied the cache, …]}

    def _set(self, enabled, context="alloc", most=_HISTORY):
        record = _attribute(_module("torch"), "cuda", "memory")._record_memory_history
        more = {"skip_actions": ["free_requested"]} if "skip_actions" in str(record.__signature__) else {}  # not in 2.4
        self._runtime.locks.pass_by()
        self._calling = _get_ident()
        try:
            record(enabled, context=context, stacks="python", max_entries=most, **more)
        finally:
            self._calling = None

    def record(self, asked, out, notes):
        """Records until asked["steps"] steps have ended or asked["seconds"] are over, and writes the snapshot to out.
        Returns what was recorded."""
        steps, made, own = asked.get("steps", 0), {}, self._steps.own
        if self._runtime.recorded() is None:
            raise _Refusal("unsupported", "recording needs PyTorch 2.1 or newer")
        if steps and not (self._steps.register() or own):
            raise _Refusal("unsupported", "no steps are counted in this program: record for some seconds")

        def count():
            return max(min(made.values(), default=0), self._steps.own - own)

        def look(optimizer):
            made[id(optimizer)] = made.get(id(optimizer), 0) + 1
            return 0 < steps <= count() and (self._theirs or self._set("all", None) or True)

        def noting(*args, **kwargs):
            self._theirs = self._theirs or self._calling != _get_ident()
            return function(*args, **kwargs)

        c, name = _module("torch")._C, "_cuda_record_memory_history"
        function = getattr(c, name)
        self._theirs, began = self._runtime.recorded(), _monotonic()
        setattr(c, name, noting)
        try:
            self._unless_theirs("all")
            self._steps.wait(look, lambda: out.check() or 0 < steps <= count(), asked["seconds"])
            recorded = {"seconds": round(_monotonic() - began, 3), "steps": count()}
            self._unless_theirs("all", None)
            _when_free(lambda: self.write(out, notes))
        finally:
            self._unless_theirs(None)
            theirs, self._theirs = self._theirs, True  # a late step turns nothing on
            setattr(c, name, function)
            self._runtime.forget_snapshot()
        if theirs:
            notes.append("the program records a history itself: it was left as it is")
        if steps > recorded["steps"]:
            notes.append("%d of %d steps ended in %.0f s" % (recorded["steps"], steps, recorded["seconds"]))
        return recorded

    def _unless_theirs(self, *how):
        _when_free(lambda: self._theirs or self._set(*how), _BUSY_TIME if how[0] else float("inf"))

    def write(self, out, notes):
        self._runtime.locks.pass_by()
        if not _pickled(out.write):
            self._pickle(out, notes)
        if self._emptied is not None:
            out.write(_encoded({"emptied": self._emptied}).encode("ascii"))  # unpicklers stop before this

    def _pickle(self, out, notes):
        pickle = _module("pickle")
        if not hasattr(pickle, "Pickler"):
            raise _Refusal("unsupported", "the program has not imported pickle")
        snapshot, paused = self._runtime.snapshot()
        # PyTorch's _dump_snapshot does the same. The C code writes some 64 KiB at a time, and other threads run in between.
        pickle.Pickler(out).dump(snapshot)
        if paused > 0.1:
            notes.append("PyTorch paused the program for %.1f s to make it" % paused)

    def begin(self):
        """Records from the start, for vramscope run --snapshot-on-oom and, without lines, --record-memory."""
        errors, whole = os.environ.get("VRAMSCOPE_SNAPSHOT_ON_OOM"), os.environ.get("VRAMSCOPE_RECORD_MEMORY")
        if (errors or whole) and self._runtime.recorded() is False:
            self._set("all", "alloc" if errors else None, _WHOLE_HISTORY if whole else _HISTORY)
            if whole:
                self.whole = _clip(whole)
                self._note_emptied()
                _library("atexit").register(self._leave_whole, whole, posix.getpid())

    def _note_emptied(self):
        """Has each emptying of the cache noted: a history does not distinguish it from what the allocator frees by itself."""
        c, self._emptied = _module("torch")._C, {}
        for name in ("_cuda_emptyCache", "_accelerator_emptyCache", "_cuda_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats"):
            if hasattr(c, name):
                setattr(c, name, self._noting(getattr(c, name), "reset" in name))

    def _noting(self, function, resets):
        def noting(*args):
            before = {} if self._emptied is None else self._totals()
            answer = function(*args)
            try:
                self._note(resets, before)
            except Exception:
                self._emptied = None  # this must not become the program's error
            return answer

        return noting

    def _totals(self):
        """Returns {ordinal: (allocations, frees)} of the devices with allocations."""
        try:
            cuda = self._runtime.initialised()
            every = {d: _totals(cuda.memory_stats_as_nested_dict(d))[:2] for d in self._runtime.ordinals(cuda)}
            return {d: totals for d, totals in every.items() if totals[0]}
        except Exception:
            return {}

    def _note(self, resets, before):
        cuda, emptied = self._runtime.initialised(), self._emptied
        if resets or emptied is None or cuda is None or sum(map(len, emptied.values())) >= _EMPTIED:
            self._emptied = None  # the counters were reset, or too many emptyings were noted
            return
        for ordinal in self._runtime.ordinals(cuda):
            stats = cuda.memory_stats_as_nested_dict(ordinal)
            allocations, frees, _ = _totals(stats)
            if (allocations, frees) != before.get(ordinal, (0, 0)):
                self._emptied = None  # another thread allocated or freed meanwhile: the emptying's place among the events is unknown
                return
            emptied.setdefault(str(ordinal), []).append(allocations + _figure(stats, "active", "freed"))

    def _leave_whole(self, directory, pid):
        try:
            if posix.getpid() == pid:  # not in a child
                self._write_beside("%s/memory-%d" % (directory, pid))
        except Exception:
            pass  # Python would print a message that is not the program's

    def leave(self):
        """Writes a snapshot when an allocation fails, for vramscope run --snapshot-on-oom: _MAX_LEFT at most."""
        directory = os.environ.get("VRAMSCOPE_SNAPSHOT_ON_OOM")
        if directory and self._left < _MAX_LEFT:
            self._left += 1
            self._write("%s/oom-%d-%d.pickle" % (directory, posix.getpid(), self._left))

    def _write_beside(self, name, copies=1):
        """Writes NAME.pickle; if an earlier process with this PID has written that, NAME-2.pickle,
        and so on."""
        try:
            self._write(name + ("-%d" % copies if copies > 1 else "") + ".pickle")
        except FileExistsError:
            if copies < 100:
                self._write_beside(name, copies + 1)

    def _write(self, name):
        with _io.FileIO(name, "x", opener=lambda name, flags: posix.open(name, flags, 0o600)) as file:
            self.write(_SnapshotFile(file.fileno(), lambda: True), [])


def _pickled(write):
    """Calls write() with PyTorch's snapshot as a pickle. PyTorch's C++ makes the pickle without the GIL, except for
    the names of lines. Returns False if this release does not export that function. The function would import the
    hundreds of modules of torch._inductor, to look for lines of compiled graphs. If the program has not imported
    torch._inductor, an empty module stands in for it.

    Source: torch/csrc/cuda/memory_snapshot.cpp, _memory_snapshot_pickled (2.0 to 2.15), which returns a
    std::string: address and size; before GCC's new ABI the size is 24 bytes in front of the text.
    """
    foreign, torch, stand_in, mode = _Foreign(), _module("torch"), type(sys)("torch._inductor"), posix.RTLD_NOLOAD | posix.RTLD_NOW
    text, name = (foreign.ulong * 4)(), "_ZN5torch4cuda24_memory_snapshot_pickled%sEv"
    try:
        library = foreign.open("libtorch_cuda.so", mode)
        free = foreign.open("libstdc++.so.6", mode).get("_ZdlPv", foreign.int, foreign.pointer)
        try:
            make, before = library.get(name % "B5cxx11"), 0
        except AttributeError:
            make, before = library.get(name % ""), 24
    except (OSError, AttributeError):
        return False
    if "torch._inductor" not in sys.modules:
        torch._inductor = stand_in
    try:
        make(foreign.byref(text))
        size = foreign.ulong.from_address(text[0] - before).value if before else text[1]
        write((foreign.char * size).from_address(text[0]))
    finally:
        if vars(torch).get("_inductor") is stand_in:
            del torch._inductor
        free(text[0] - before if text[0] else None)
    return True
