class _Memory:
    """The memory of all runtimes: reports, flushes and snapshots."""

    def __init__(self):
        self._driver = _Driver()
        self._runtimes = [runtime(self._driver) for runtime in _RUNTIMES]
        self._torch = next(r for r in self._runtimes if isinstance(r, _PyTorch))
        self.preloaded = _Preloaded()
        self._lock = _allocate_lock()
        self._report = None
        self._due = 0.0
        self._fresh_due = 0.0
        self._map_budget = _MapBudget()
        self._holds = _Holds(self._torch, _holders, _steps)

    def _active(self):
        for runtime in self._runtimes:
            if _module(runtime.package) is None:
                continue
            try:
                if runtime.active():
                    yield runtime
            except Exception:
                _log_failure("checking " + runtime.name)

    def in_use(self):
        return any(True for _ in self._active())

    def observe(self):
        """Has PyTorch's out-of-memory errors recorded."""
        try:
            self._torch.errors.attach()
        except Exception:  # _Busy, too: the first stats try again
            _log_failure("observing out-of-memory errors")

    def observe_early(self):
        """Has PyTorch's errors recorded from CUDA's initialisation on, because the first allocation may fail. Also has modules noted."""
        try:
            self._torch.errors.attach_early()
            _holders.watch()
        except Exception:
            _log_failure("observing PyTorch")

    def has_failed(self):
        """Whether an allocation has failed in the last seconds."""
        return self._torch.errors.recent()

    def last_report(self):
        """The stats with an out-of-memory error of the last seconds, or None."""
        if not self.has_failed():
            return None
        report = self._report or self.report()
        self._add_errors(report)
        return report

    def runtimes(self):
        found = []
        for runtime in self._active():
            described = {"name": runtime.name}
            version = runtime.version()
            if version:
                described["version"] = _clip(version)
            found.append(described)
        return found

    def can_flush(self):
        return any(runtime.flushes for runtime in self._active())

    def report(self, fresh=False):
        """Returns the stats. They are at most _STATS_TIME old, or older if they are slow to read. With fresh they are read anew, as far as that is cheap."""
        with self._lock:
            now = _monotonic()
            if self._report is None or now >= (self._fresh_due if fresh else self._due):
                try:
                    self._report = self._read()
                except _Busy:
                    if self._report is None:
                        raise
                    return self._report  # with the time at which it was read
                took = _monotonic() - now
                # Slow stats are read less often: reading takes 0.5 % of the time, or is due every 2.5 s.
                self._due = now + max(_STATS_TIME, min(took * 200, 2.5))
                self._fresh_due = now + min(took * 20, 2.5)
            return self._report

    def _fresh(self):
        with self._lock:
            self._due = 0.0
            return self._read()

    def _read(self):
        report = {"time_ns": _time_ns(), "devices": []}
        devices, handles = {}, set()
        for runtime in self._active():
            try:
                stats = list(runtime.stats())
            except _Busy:
                raise
            except Exception:
                _log_failure("reading the stats of " + runtime.name)
                continue
            for ordinal, allocator in stats:
                device = devices.get(ordinal)
                if device is None:
                    device = devices[ordinal] = self._device(ordinal)
                    if device is not None and len(report["devices"]) < _MAX_DEVICES:
                        report["devices"].append(device)
                handle = allocator.get("handle")
                if device is None or (handle and handle in handles):
                    continue  # two libraries on one CUDA pool are one allocator
                handles.add(handle)
                device["allocators"].append(allocator)
        self._add_errors(report)
        _steps.add_to(report)
        try:
            self.preloaded.add_to(report)
        except Exception:
            _log_failure("reading the preloaded library")
        return report

    def _add_errors(self, report):
        """Adds PyTorch's errors, and their devices: a device on which the first allocation failed has no allocator."""
        errors = self._torch.errors
        for ordinal in errors.ordinals() - {device["ordinal"] for device in report["devices"]}:
            device = self._device(ordinal)
            if device is not None and len(report["devices"]) < _MAX_DEVICES:
                report["devices"].append(device)
        errors.add_to(report)

    def _device(self, ordinal):
        uuid, total = self._driver.describe(ordinal)
        if uuid is None and self._torch.active():
            uuid, total = self._torch.describe(ordinal)
        if uuid is None:
            return None
        device = {"uuid": uuid, "allocators": [], "ordinal": ordinal}
        if total is not None:
            device["total_bytes"] = int(total)
        return device

    # -- Flush

    def flush(self, request, evictable):
        """Frees memory, and returns what was measured before and after. A dry run only predicts what would be freed."""
        started = _monotonic()
        level, keep, dry = request["level"], request["keep_bytes"], request["dry_run"]
        notes, reasons, collected = [], [], {}
        if dry:
            self._torch.forget_snapshot()
        before = self._chosen(_when_free(self._fresh), request["devices"])
        after = {}
        if not before:
            reasons.append("this process uses none of these devices")
        elif dry:
            self._predict(before, after, keep, level, evictable, notes)
        else:
            collected = self._release(before, keep, level, evictable, notes, reasons)
            # What was freed is reported, however long that takes.
            report = _when_free(self._fresh, float("inf"))
            after = {d["uuid"]: _reserved(d) for d in self._chosen(report, request["devices"])}
        devices = []
        for device in before:
            held = _reserved(device)
            left = after.get(device["uuid"], 0)
            devices.append(
                {"uuid": device["uuid"], "before_bytes": held, "after_bytes": left, "freed_bytes": held - left}
            )
            if device.get("ordinal") in collected:
                devices[-1]["collected_bytes"] = collected[device["ordinal"]]
        answer = {"level": level, "dry_run": dry, "devices": devices}
        returnable = sum(_returnable(d) for d in before)
        if not dry and not reasons and before and not any(d["freed_bytes"] > 0 for d in devices):
            if returnable > keep:
                reasons.append("the allocators freed nothing: the free memory is fragmented, or was allocated again")
            else:
                reasons.append("nothing that a flush frees was cached")
        if reasons:
            answer["skipped_reason"] = _clip("; ".join(reasons))
        if notes:
            answer["notes"] = [_clip(note) for note in notes[:_MAX_NOTES]]
        answer["ms"] = round((_monotonic() - started) * 1000, 3)
        return answer

    def _chosen(self, report, uuids):
        return [d for d in report["devices"] if not uuids or d["uuid"] in uuids]

    def prepare_thread(self):
        """Prepares this thread for the program's code that may use a GPU: it
        disturbs no graph capture, and a device in use is current."""
        self._driver.relax()
        self._torch.use_device()

    def _predict(self, before, after, keep, level, evictable, notes):
        for device in before:
            returnable = _returnable(device)
            partial = all(a["kind"] == "cuda_pool" or not a.get("returnable_bytes") for a in device["allocators"])
            if returnable <= keep:
                returnable = 0
            elif partial:
                returnable -= keep
            after[device["uuid"]] = _reserved(device) - returnable
        notes.extend(sorted({_bound(a) for d in before for a in d["allocators"]} - {""}))
        if level != "gradual":
            self.prepare_thread()
            notes.extend(evictable.preview())
        if level == "urgent":
            notes.append("uncollected Python garbage is not counted")

    def _release(self, before, keep, level, evictable, notes, reasons):
        self.prepare_thread()
        if level == "gradual" and keep and all(_returnable(d) <= keep for d in before):
            reasons.append("its cache is no larger than keep_bytes")
            return {}
        if level != "gradual":
            evictable.evict(notes)
        collected = self._torch.collect() if level == "urgent" else {}
        ordinals = [d["ordinal"] for d in before if "ordinal" in d]
        for runtime in list(self._active()):
            if not runtime.flushes:
                notes.append("%s keeps what it has reserved" % runtime.name)
                continue
            try:
                if level == "urgent":
                    runtime.clear()
                reason = runtime.flush(ordinals, keep, notes)
            except Exception as error:
                _log_failure("flushing " + runtime.name)
                reason = "%s: %s" % (runtime.name, _first_line(error))
            if reason:
                reasons.append(reason)
        return collected

    # -- What holds the memory

    def no_holds(self):
        """Returns why the holders of the memory cannot be known, or None."""
        reason = self._torch.no_snapshot()
        if reason is None and not (_attribute(_module("torch"), "_C", "DisableTorchFunctionSubclass") and _module("torch.nn.modules.module")):
            reason = "that needs PyTorch 2.0 or newer"
        return reason

    def holds(self, uuids, wanted):
        started = _monotonic()
        wait = self._holds.budget.wait()
        if wait:
            raise _Refusal("rate_limited", "many tensors were looked at just now: again in %.0f s" % (wait + 1))
        answer = self._holds.answer(uuids, lambda ordinal: (self._device(ordinal) or {}).get("uuid"), wanted)
        answer["ms"] = round((_monotonic() - started) * 1000, 3)
        return answer

    # -- Snapshots

    def can_snapshot(self):
        return self._torch.no_snapshot() is None

    def refuse_snapshot(self, wanted):
        """Raises a _Refusal if this snapshot cannot be taken now."""
        reason = self._torch.no_snapshot()
        if reason is not None:
            raise _Refusal("unsupported", reason)
        wait = self._map_budget.wait() if wanted["format"] == "segments" else 0
        if wait:
            raise _Refusal("rate_limited", "a large map was made just now: again in %.0f s" % (wait + 1))

    def snapshot(self, wanted, out):
        """Writes a snapshot to out, and returns the answer about it."""
        started, notes, answer = _monotonic(), [], {}
        name = wanted["format"]
        if name == "summary":
            out.write(_when_free(self._torch.summary).encode("utf-8", "replace"))
        elif name == "segments":
            name = _MAP_SCHEMA
            self._write_map(_when_free(lambda: self._take_map(wanted["devices"])), out)
            self._map_budget.add(_monotonic() - started)
        else:
            history = self._torch.history
            if self._torch.recording():
                notes.append("it includes the recorded memory history")
            if wanted["record"]:
                answer["recorded"] = history.record(wanted["record"], out, notes)
            else:
                _when_free(lambda: history.write(out, notes))
        out.flush()
        answer.update({"format": name, "bytes": out.offset, "ms": round((_monotonic() - started) * 1000, 3)})
        if notes:
            answer["notes"] = notes
        return answer

    def _take_map(self, uuids):
        """[(uuid, segments as in _within_limits), …]"""
        reason = self._torch.no_map()
        if reason is not None:
            raise _Refusal("unsupported", reason)
        with _CollectionOff():
            by_device = {}
            for segment in self._torch.snapshot()[0]["segments"]:
                if not self._torch.asleep(segment):
                    by_device.setdefault(segment.get("device", 0), []).append(segment)
            chosen = []
            for ordinal in sorted(by_device)[:_MAX_DEVICES]:
                device = self._device(ordinal)
                if device is not None and (not uuids or device["uuid"] in uuids):
                    chosen.append((device["uuid"], by_device[ordinal]))
            return list(_within_limits(chosen, self._torch.settings.large_page()[0]))

    def _write_map(self, devices, out):
        encode = _encoded
        out.add(encode({"schema": _MAP_SCHEMA, "time_ns": _time_ns()})[:-1] + ',"devices":[')
        comma = ""
        for uuid, segments in devices:
            left = segments.pop()
            out.add('%s{"uuid":%s,"left":%d,"segments":[' % (comma, encode(uuid), left))
            comma = ""
            for segment, pieces in segments:
                out.add(comma + encode(_described(segment, pieces)))
                comma = ","
            out.add("]}")
            comma = ","
        out.add("]}")


def _bound(allocator):
    """Why a flush of the allocator may free more or less than predicted, or ""."""
    bound, pool = allocator.get("returnable_bound"), allocator.get("basis") == "post_flush"
    if bound == "about" and pool:
        return "about: what streams have not yet freed counts as used, and only the flush shows what is fragmented"
    if pool:
        return "at most: only the flush shows how much is fragmented" if allocator.get("returnable_bytes") else ""
    if bound == "about" and "largest_free_bytes" in allocator:
        return "about: the allocator's settings were changed, and its page size with them, perhaps"
    return {
        "least": "at least: private pools that nothing uses any more are freed, too",
        "most": "at most: private pools keep their memory, and there was no snapshot to show it",
        "about": "about: only a snapshot shows which pending memory is freed, and what private pools keep",
    }.get(bound, "")


def _reserved(device):
    return sum(a.get("reserved_bytes", 0) for a in device["allocators"])


def _returnable(device):
    return sum(a.get("returnable_bytes", a.get("cached_bytes", 0)) for a in device["allocators"])
