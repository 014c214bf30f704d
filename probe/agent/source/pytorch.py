class _PyTorch(_Runtime):
    """torch.cuda's caching allocator, or cudaMallocAsync in its place.

    Sources: https://pytorch.org/docs/stable/notes/cuda.html#memory-management
    https://pytorch.org/docs/stable/generated/torch.cuda.memory_stats.html
    """

    name, package, flushes = "PyTorch", "torch", True

    def __init__(self, driver):
        super().__init__(driver)
        self.locks = _PyTorchLocks()
        self._count = 0
        self.in_use = []  # the ordinals of the devices that have a context
        self._devices = {}
        self._maps = {}  # ordinal → figures of the last snapshot (_add_segment)
        self._next_map = 0.0
        self._watched = []  # addresses of the largest segments that may sleep
        self._asleep = None  # what _sleepers returned last
        self._map_cost = self._least_map_cost = 1e-6  # seconds per block: of the last snapshots, of the fastest one
        self._history = False
        self.settings = _Settings()
        self.history = _History(self, _steps)
        self.errors, self.cap = _OutOfMemory(self), _Cap(self, driver)

    def initialised(self):
        """torch.cuda, or None if the program has not begun to use a GPU through it."""
        torch = _module("torch")
        if torch is None or _attribute(torch, "version", "hip"):
            return None
        cuda = _attribute(torch, "cuda")
        ready = _attribute(cuda, "is_initialized")
        return cuda if ready is not None and ready() else None

    def version(self):
        return super().version().partition("+")[0]

    def active(self):
        return self.initialised() is not None

    def describe(self, ordinal):
        """Does what _Driver.describe does, for a machine where libcuda does not answer."""
        if ordinal not in self._devices:
            properties = self.initialised().get_device_properties(ordinal)
            uuid = str(getattr(properties, "uuid", "") or "")
            if uuid and not uuid.startswith(("GPU-", "MIG-")):
                uuid = "GPU-" + uuid
            self._devices[ordinal] = uuid or None, getattr(properties, "total_memory", None)
        return self._devices[ordinal]

    def ordinals(self, cuda):
        """The devices that have a context. Asking about another one could create a context."""
        if not self._count:
            self._count = cuda.device_count()
        used = self._driver.in_use()
        if used is None:
            has = _attribute(_module("torch"), "_C", "_cuda_hasPrimaryContext")
            used = [d for d in range(self._count) if has is None or has(d)]
        self.in_use = [d for d in used if d < self._count]
        return self.in_use

    def backend(self, cuda):
        asked = getattr(cuda, "get_allocator_backend", None)  # since 2.0
        return asked() if asked is not None else "native"

    def stats(self, survey=True):
        """survey is whether a snapshot may be taken if one is due. If memory has fallen asleep or woken up, one is due in any case."""
        cuda = self.initialised()
        if cuda is None:
            return
        backend = self.backend(cuda)
        if backend == "native":
            yield from self._native(cuda, survey)
        elif backend == "cudaMallocAsync":
            for ordinal in self.ordinals(cuda):
                figures = self._pool(cuda, ordinal)
                if figures is not None:
                    yield ordinal, figures
        # A pluggable allocator has no statistics.

    def _pool(self, cuda, ordinal):
        """cudaMallocAsync: torch reports two keys; the driver's pool reports the rest."""
        handle = self._driver.default_pool(ordinal)
        pair = self._driver.pool(handle) if handle else None
        if pair is None:
            stats = self._memory_stats(cuda, ordinal)
            pair = [_figure(stats, "allocated_bytes"), _figure(stats, "reserved_bytes")]
            if None in pair:
                return None
        if pair[1] == 0:
            return None
        figures = {"kind": "cuda_pool"}
        if handle:
            figures["handle"] = handle
            figures.update(self._driver.pool_peaks(handle))
        config = self.settings.text()
        if config:
            figures["config"] = config
        figures.update(self._post_flush.pool_figures(ordinal, pair))
        return figures

    def _memory_stats(self, cuda, ordinal):
        """Raises _Busy rather than wait with the GIL, and so does _take_snapshot."""
        self.locks.pass_by()
        nested = getattr(cuda, "memory_stats_as_nested_dict", None)
        # memory_stats() is made from this one and costs three times as much.
        return nested(ordinal) if nested is not None else cuda.memory_stats(ordinal)

    def _native(self, cuda, survey):
        self.locks.pass_by()  # while a lock is held, the driver may make its callers wait, too
        try:
            self.errors.attach()
        except RuntimeError:
            _log_failure("observing out-of-memory errors")
        every = [(d, self._memory_stats(cuda, d)) for d in self.ordinals(cuda)]
        every = [(d, s) for d, s in every if _figure(s, "reserved_bytes", "peak") or _figure(s, "num_ooms", None)]
        if self._sleepers(every) != self._asleep:
            self._next_map, survey = 0.0, True
        try:
            if survey:
                self._survey(cuda, [s for _, s in every])
        except _Busy:
            pass  # the next report takes it
        except Exception:
            _log_failure("taking PyTorch's snapshot")
            self._maps, self._next_map = {}, _monotonic() + 60
        self._asleep = self._sleepers(every)
        for ordinal, stats in every:
            yield ordinal, _allocator(stats, self._maps.get(ordinal), self.settings)

    def _sleepers(self, every):
        """The figures that change when memory goes to sleep, wakes up or is freed."""
        mapped = [self._driver.mapped(address) for address in self._watched]
        return mapped, False in mapped and [_figure(stats, "segment", "freed") for _, stats in every]

    def asleep(self, segment):
        return _may_sleep(segment) and self._driver.mapped(segment.get("address", 0)) is False

    def awake(self, ordinal, stats):
        """Takes what was asleep at the last snapshot out of a device's statistics."""
        _take_asleep(stats, self._maps.get(ordinal))

    # -- Snapshots

    def recorded(self):
        """Whether memory history is recorded, or None if unknown."""
        asked = _attribute(_module("torch"), "_C", "_cuda_isHistoryEnabled")  # since 2.1
        return asked() if asked is not None else None

    def _take_snapshot(self, cuda):
        """torch.cuda.memory._snapshot(), a dict since 1.13."""
        take = _attribute(cuda, "memory", "_snapshot") or cuda.memory_snapshot
        with _CollectionOff():
            self.locks.pass_by()
            whole = take()
        if not isinstance(whole, dict):
            whole = {"segments": whole, "device_traces": []}
        self.settings.learn(whole.get("allocator_settings") or {})
        return whole

    def _survey(self, cuda, every):
        """Takes a snapshot if one is due and affordable. A snapshot holds the GIL while it makes an
        object for every block. With recorded history it would also make one for every stack
        trace, so then none is taken.
        """
        now = _monotonic()
        if now < self._next_map or self._history or not every:
            return
        blocks = _blocks(every)
        recorded = self.recorded()
        if blocks * self._map_cost > _SNAPSHOT_MOST or recorded:
            self._maps, self._next_map = {}, now + 10
            # The last snapshot may have waited for a processor, so its cost says nothing about the
            # next.
            self._map_cost = max(self._map_cost / 2, self._least_map_cost)
            return
        maps = {ordinal: _new_figures() for ordinal in range(self._count)}
        with _CollectionOff():
            segments = self._take_snapshot(cuda)["segments"]
            page = self.settings.large_page()[0]
            for segment in segments:
                if self.asleep(segment):
                    _add_asleep(maps.setdefault(segment.get("device", 0), _new_figures()), segment)
                else:
                    _add_segment(maps, segment, page)
            watched = sorted((s.get("total_size", 0), s.get("address", 0)) for s in segments if _may_sleep(s))
            self._watched = [address for _, address in watched[-_SLEEPERS:]]
            if recorded is None:
                # Before 2.1 only the snapshot shows that history is recorded, and nothing shows when that ends.
                self._history = any(b.get("history") or b.get("frames") for s in segments for b in s.get("blocks", ()))
            segments = None
        self._maps = maps
        took = max(_monotonic() - now, 1e-5)
        cost = took / max(blocks, 100)
        self._map_cost, self._least_map_cost = max(self._map_cost / 2, cost), min(self._least_map_cost, cost)
        self._next_map = now + max(took / _SNAPSHOT_SHARE, 2.0)

    def snapshot_cost(self, every):
        """The seconds that a snapshot takes, by the statistics of the devices."""
        return _blocks(every) * self._map_cost

    def least_snapshot_cost(self, every):
        """The seconds that a snapshot would take if no other program took the processor meanwhile: by the fastest so far."""
        return _blocks(every) * self._least_map_cost

    def no_snapshot(self):
        """Why no snapshot can be taken, or None."""
        if _module("torch") is None:
            return "only PyTorch reports its blocks, and this program has not imported it"
        cuda = self.initialised()
        if cuda is None:
            return "PyTorch has not begun to use a GPU in this process"
        backend = self.backend(cuda)
        return None if backend == "native" else "PyTorch's allocator is %s, which does not report its blocks" % backend

    def no_map(self):
        """Why a map would cost the program too much, or None."""
        if self._history or self.recorded():
            return "memory history is recorded, so a map would pause the program; vramscope snapshot takes one anyway"
        cuda = self.initialised()
        every = [self._memory_stats(cuda, d) for d in self.ordinals(cuda)]
        if self.snapshot_cost(every) > _MAP_MOST:
            return "a map of its %d blocks would pause the program for %.1f s" % (_blocks(every), self.snapshot_cost(every))
        return None

    def snapshot(self):
        """(PyTorch's snapshot, seconds for which it paused the program)"""
        self._driver.relax()
        self.use_device()
        began = _monotonic()
        snapshot = self._take_snapshot(self.initialised())
        return snapshot, _monotonic() - began

    def summary(self):
        self.locks.pass_by()
        cuda = self.initialised()
        return "".join(cuda.memory_summary(ordinal) + "\n" for ordinal in self.ordinals(cuda))

    def recording(self):
        return bool(self._history or self.recorded())

    # -- Flush

    def clear(self):
        cuda = self.initialised()
        if cuda is None:
            return
        plans = _attribute(_module("torch"), "backends", "cuda", "cufft_plan_cache")
        for ordinal in self.ordinals(cuda):
            try:
                plans[ordinal].clear()
            except Exception:
                _log_failure("clearing cuFFT plans")  # some builds have none
        collect = getattr(cuda, "ipc_collect", None)
        if collect is not None:
            collect()

    def collect(self):
        """Collects Python's garbage. Returns how many bytes of tensors that freed, by ordinal, if that is known.

        Threads in C++ allocate and free without the GIL, and a finalizer releases it. So the figure
        is known only if nothing was allocated meanwhile, nothing was allocated or freed right
        before and after, and the program makes no steps.
        """
        before = {} if _steps.going_on() else self._at_rest()
        _library("gc").collect()
        after = self._at_rest() if before else {}
        return {d: before[d][2] - after[d][2] for d in before if d in after and before[d][0] == after[d][0] and before[d][2] >= after[d][2]}

    def _at_rest(self):
        """{ordinal: (allocations, frees, allocated bytes)} of the devices where these stay the same for a moment.
        cudaMallocAsync counts no allocations."""
        def totals():
            return {d: _totals(self._memory_stats(cuda, d)) for d in ordinals}

        try:
            cuda = self.initialised()
            ordinals = self.ordinals(cuda) if cuda is not None else ()
            first, _, second = totals(), _sleep(_REST), totals()
        except Exception:  # _Busy, too
            return _log_failure("reading what is allocated") or {}
        return {d: first[d] for d in ordinals if first[d] == second[d] and first[d][0] and None not in first[d]}

    def use_device(self):
        """Makes a device in use current in this thread.

        In a new thread GPU 0 is current, and the first call that needs a context
        would make one there, of some 500 MiB. torch.cuda.device() would return
        to GPU 0 at its end, so the device stays current.
        """
        cuda = self.initialised()
        ordinals = self.ordinals(cuda) if cuda is not None else ()
        if ordinals:
            cuda.set_device(ordinals[0])

    def flush(self, ordinals, keep, notes):
        cuda = self.initialised()
        if cuda is None:
            return None
        backend = self.backend(cuda)
        if backend not in ("native", "cudaMallocAsync"):
            notes.append("PyTorch uses a custom allocator (%s), which cannot be flushed" % backend)
            return None
        distributed = _module("torch.distributed")
        ready = _attribute(distributed, "is_initialized")
        if ready is not None and ready():
            notes.append("torch.distributed is running: other ranks may have waited")
        try:
            if backend == "native":
                return self._empty(cuda, ordinals, keep, notes)
            return self._trim(cuda, ordinals, keep)
        except RuntimeError as error:
            if "captur" in str(error):  # releases before 2.8 fail during a capture
                return "a graph capture was running: PyTorch refused"
            return "PyTorch refused: " + _first_line(error)
        finally:
            self.forget_snapshot()

    def forget_snapshot(self):
        """Makes the next stats take a new snapshot."""
        self._next_map, self._maps = 0.0, {}

    def _empty(self, cuda, ordinals, keep, notes):
        if set(self.ordinals(cuda)) - set(ordinals):
            notes.append("PyTorch flushes all its devices at once")
        if keep:
            notes.append("PyTorch frees all of its cache or nothing: keep_bytes was ignored")
        before = self._waits(cuda, ordinals)
        cuda.empty_cache()
        after = self._waits(cuda, ordinals)
        skipped = [d for d in before if before[d] == after.get(d)]
        if not skipped:
            return None
        where = "" if len(skipped) == len(before) else " on %d of %d GPUs" % (len(skipped), len(before))
        return "a graph capture was running%s: PyTorch frees nothing meanwhile" % where

    def _waits(self, cuda, ordinals):
        """Returns how often each device's allocator has waited for pending frees, without the devices where
        that is unknown, as before 2.1. Each empty_cache() waits, unless a graph is being captured: in 2.8 on
        the device, in 2.15 in this thread."""
        try:
            every = {d: _figure(self._memory_stats(cuda, d), "num_sync_all_streams", None) for d in ordinals}
        except _Busy:
            return {}
        return {d: count for d, count in every.items() if count is not None}

    def _trim(self, cuda, ordinals, keep):
        """Does what empty_cache does with cudaMallocAsync, but only on these devices, and leaves keep bytes of cache."""
        for ordinal in self.ordinals(cuda):
            handle = self._driver.default_pool(ordinal) if ordinal in ordinals else None
            if handle:
                cuda.synchronize(ordinal)
                self._post_flush.trim(self._driver, ordinal, handle, keep)
