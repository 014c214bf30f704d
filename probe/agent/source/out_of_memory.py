class _OutOfMemory:
    """PyTorch's out-of-memory errors, recorded as they happen.

        the program ── allocates ──→ cudaMalloc fails, PyTorch frees its cache, cudaMalloc fails again
                                         ↓ PyTorch releases its lock, then takes the GIL
                                     observers ── _observe ──→ the newest errors, part of the next stats
                                         ↓
                                     the program's error

    An observer runs inside the failing allocation, on any thread: it waits for no lock, except
    to write a snapshot, and raises no Exception. It cannot be detached.

    Sources: DeviceCachingAllocator::malloc in c10/cuda/CUDACachingAllocator.cpp and
    THCPModule_attachOutOfMemoryObserver in torch/csrc/cuda/Module.cpp, 2.0 to 2.15.
    """

    def __init__(self, runtime):
        self._runtime = runtime
        self._tried = False
        self._queued = False
        self._errors = []  # (ordinal, error with the protocol's keys), the newest last

    def attach_early(self):
        """Has PyTorch attach the observer itself, on the program's thread, at the end of CUDA's
        initialisation, because the first allocation may fail. Source: _lazy_init in
        torch/cuda/__init__.py, 1.13 to 2.15."""
        queue = getattr(_module("torch.cuda"), "_queued_calls", None)
        if not (self._queued or self._tried) and isinstance(queue, list):
            self._queued = True
            queue.append((self._attach_queued, []))

    def _attach_queued(self):
        try:
            if not self._tried:
                self._runtime.cap.begin(_module("torch.cuda"))
                self._attach(_module("torch.cuda"))
        except Exception:
            pass  # it would end the program's initialisation

    def attach(self):
        """Attaches if PyTorch's own allocator is in use. Attaching takes no lock of PyTorch's, so no
        thread may hold one then. It would initialise CUDA, so CUDA must be initialised already."""
        runtime = self._runtime
        cuda = runtime.initialised()
        if cuda is not None:
            runtime.cap.apply(cuda)
        if self._tried or cuda is None:
            return
        runtime.locks.pass_by()
        self._attach(cuda)

    def _attach(self, cuda):
        if self._runtime.backend(cuda) != "native":
            return  # cudaMallocAsync refuses observers
        self._tried = True
        attach = _attribute(_module("torch"), "_C", "_cuda_attach_out_of_memory_observer")  # since 2.0
        if attach is not None:
            attach(self._observe)
        self._runtime.history.begin()

    def ordinals(self):
        return {ordinal for ordinal, _ in list(self._errors)}

    def recent(self):
        """Whether the last error is so recent that a monitor may not know of it."""
        return bool(self._errors) and _time_ns() - self._errors[-1][1]["time_ns"] < _RECENT_TIME * 1e9

    def add_to(self, report):
        """Adds the errors to the stats."""
        errors = list(self._errors)
        for device in report["devices"]:
            own = [error for ordinal, error in errors if ordinal == device.get("ordinal")]
            if own:
                failed = [error for error in device.get("out_of_memory", ()) if "api" in error]
                device["out_of_memory"] = sorted(failed + own, key=lambda error: error["time_ns"])

    def _observe(self, ordinal, asked, limit, free):
        # A failure of the probe must not reach the program, but the program's KeyboardInterrupt must.
        try:
            error = {"time_ns": _time_ns(), "bytes": asked, "free_bytes": free, "limit_bytes": limit, "allocator": "pytorch"}
            if self._runtime.history.whole:
                error["trace"] = self._runtime.history.whole
            frame = sys._getframe().f_back
            late = not self._errors or error["time_ns"] - self._errors[-1][1]["time_ns"] >= _ERROR_EVERY
            for look in (self._parts, _stack) + (_holders.at_error,) * late:
                try:
                    error.update(look(ordinal, frame))
                except Exception:
                    pass
            self._errors.append((ordinal, error))
            del self._errors[:-_MAX_ERRORS]
            self._runtime.history.leave()
        except Exception:
            pass  # it would replace the program's error

    def _parts(self, ordinal, _):
        """The allocator's figures, as far as they are available without waiting."""
        runtime = self._runtime
        if not runtime.locks.free():
            return {}
        cuda = _module("torch").cuda
        stats = getattr(cuda, "memory_stats_as_nested_dict", None) or cuda.memory_stats
        own = stats(ordinal)
        runtime.awake(ordinal, own)
        reserved, active = _figure(own, "reserved_bytes"), _figure(own, "active_bytes")
        if reserved is None or active is None:
            return {}
        parts = {"reserved_bytes": reserved, "allocated_bytes": min(active, reserved)}
        # A snapshot has the blocks of all devices.
        cost = runtime.snapshot_cost([stats(d) for d in {ordinal, *runtime.in_use}])
        if cost > _ERROR_MOST or runtime.recorded() is not False or not _no_fork.acquire(0):
            return parts
        try:
            with _CollectionOff():
                blocks = [
                    block["size"] for segment in _attribute(cuda, "memory", "_snapshot")()["segments"]
                    if segment["device"] == ordinal and segment.get("segment_pool_id", (0, 0)) == (0, 0)
                    for block in segment["blocks"] if block["state"] == "inactive"
                ]
        finally:
            _no_fork.release()
        parts["largest_free_bytes"] = min(max(blocks, default=0), reserved - parts["allocated_bytes"])
        return parts


def _stack(_, frame):
    """The functions that led to an error, the innermost first. PyTorch's are left out, and another library's is
    listed only if it is the innermost. A backward pass runs in a thread without Python frames: then the functions
    are those of the thread that waits in autograd, if there is only one."""
    torch, lines = os.path.dirname(_module("torch").__file__), []
    passes = [] if frame else [one for one in sys._current_frames().values() if one.f_code.co_filename.startswith(torch + "/autograd")]
    frame = passes[0] if len(passes) == 1 else frame
    while frame is not None and len(lines) < _MAX_STACK:
        code, path = frame.f_code, frame.f_code.co_filename
        name = getattr(code, "co_qualname", code.co_name).partition(".<locals>.<")[0]
        if name.endswith(("comp>", "expr>")) and frame.f_back:  # before 3.11 a comprehension does not name its function
            name = frame.f_back.f_code.co_name
        line = _clip("%s:%s in %s" % (path.rpartition("/")[2], frame.f_lineno, name))
        if not (path.startswith(torch) or lines and (_foreign(path) or line == lines[-1])):
            lines.append(line)
        frame = frame.f_back
    return {"stack": lines}


def _foreign(path):
    return "-packages/" in path or path.startswith((os.path.dirname(os.__file__), os.path.dirname(_module("torch").__file__), "<frozen"))
