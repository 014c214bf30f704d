class _Memory:
    """All libraries' memory: the report and the flush."""

    def __init__(self):
        self._driver = _Driver()
        self._torch = _PyTorch(self._driver)
        # The most important first.
        self._libraries = [
            self._torch, _JAX(self._driver), _TensorFlow(self._driver), _CuPy(self._driver), _RMM(self._driver),
        ]
        self.preloaded = _Preloaded()
        self._lock = _thread.allocate_lock()
        self._report = None
        self._due = 0.0
        self._maps_cost = _Debt()

    def _active(self):
        for library in self._libraries:
            if _module(library.package) is None:
                continue
            try:
                if library.active():
                    yield library
            except Exception:
                _complain("asking " + library.name)

    def in_use(self):
        return any(True for _ in self._active())

    def runtimes(self):
        told = []
        for library in self._active():
            runtime = {"name": library.name}
            version = library.version()
            if version:
                runtime["version"] = _clip(version)
            told.append(runtime)
        return told

    def can_flush(self):
        return any(library.flushes for library in self._active())

    def report(self):
        """The books, at most so old as says _STATS_TIME."""
        with self._lock:
            now = _monotonic()
            if self._report is None or now >= self._due:
                self._report = self._read()
                took = _monotonic() - now
                # Slow books are read less often: at most half a per cent of the time.
                self._due = now + max(_STATS_TIME, min(took * 200, 2.5))
            return self._report

    def _fresh(self):
        with self._lock:
            self._report = None
            return self._read()

    def _read(self):
        report = {"time_ns": _time_ns(), "devices": []}
        devices, handles = {}, set()
        for library in self._active():
            try:
                books = list(library.books())
            except Exception:
                _complain("reading the books of " + library.name)
                continue
            for ordinal, allocator in books:
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
        try:
            self.preloaded.add_to(report)
        except Exception:
            _complain("asking the preloaded library")
        return report

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
        """Gives memory back, and tells what was measured before and after."""
        started = _monotonic()
        level, keep, dry = request["level"], request["keep_bytes"], request["dry_run"]
        notes, reasons = [], []
        before = self._chosen(self._fresh(), request["devices"])
        after = {}
        if not before:
            reasons.append("this process uses none of these devices")
        elif dry:
            self._foretell(before, after, keep, level, evictable, notes)
        else:
            self._release(before, keep, level, evictable, notes, reasons)
            after = {d["uuid"]: _reserved(d) for d in self._chosen(self._fresh(), request["devices"])}
        devices = []
        for device in before:
            held = _reserved(device)
            left = after.get(device["uuid"], 0)
            devices.append(
                {"uuid": device["uuid"], "before_bytes": held, "after_bytes": left, "freed_bytes": held - left}
            )
        answer = {"level": level, "dry_run": dry, "devices": devices}
        wanted = sum(_returnable(d) for d in before)
        if not dry and not reasons and before and not any(d["freed_bytes"] > 0 for d in devices):
            if wanted > keep:
                reasons.append("the allocators gave nothing back: what is free lies between live blocks, or was taken again")
            else:
                reasons.append("nothing that a flush returns was cached")
        if reasons:
            answer["skipped_reason"] = _clip("; ".join(reasons))
        if notes:
            answer["notes"] = [_clip(note) for note in notes[:_MAX_NOTES]]
        answer["ms"] = round((_monotonic() - started) * 1000, 3)
        return answer

    def _chosen(self, report, uuids):
        return [d for d in report["devices"] if not uuids or d["uuid"] in uuids]

    def stand(self):
        """Puts this thread where the program's own code may use a GPU: in no capture's way, on a device in use."""
        self._driver.relax()
        self._torch.stand()

    def _foretell(self, before, after, keep, level, evictable, notes):
        for device in before:
            returns = _returnable(device)
            parts = all(a["kind"] == "cuda_pool" or not a.get("returnable_bytes") for a in device["allocators"])
            if returns <= keep:
                returns = 0
            elif parts:
                returns -= keep
            after[device["uuid"]] = _reserved(device) - returns
        if any("fragmented_bytes" not in a and a.get("cached_bytes") for d in before for a in d["allocators"]):
            notes.append("at most: how much is stuck between live blocks shows in the flush itself")
        if level != "gradual":
            self.stand()
            notes.extend(evictable.foretell())
        if level == "urgent":
            notes.append("garbage that the program has not collected is not counted")

    def _release(self, before, keep, level, evictable, notes, reasons):
        self.stand()
        if level == "gradual" and keep and all(_returnable(d) <= keep for d in before):
            reasons.append("it holds no more than it may keep")
            return
        if level != "gradual":
            evictable.evict(notes)
        if level == "urgent":
            import gc

            gc.collect()
        ordinals = [d["ordinal"] for d in before]
        for library in list(self._active()):
            if not library.flushes:
                notes.append("%s never gives back what it has reserved" % library.name)
                continue
            try:
                if level == "urgent":
                    library.clear()
                reason = library.flush(ordinals, keep, notes)
            except Exception as error:
                _complain("flushing " + library.name)
                reason = "%s: %s" % (library.name, _first_line(error))
            if reason:
                reasons.append(reason)


    # -- Snapshots

    def can_snapshot(self):
        return self._torch.no_snapshot() is None

    def refuse_snapshot(self, wanted):
        """Says why a snapshot would not be taken, before anything is begun."""
        reason = self._torch.no_snapshot()
        if reason is None and wanted["format"] == "segments":
            reason = self._torch.no_map()
            wait = self._maps_cost.wait()
            if reason is None and wait:
                raise _Refusal("rate_limited", "a map of its many blocks was taken just now: again in %.0f s" % (wait + 1))
        if reason is not None:
            raise _Refusal("unsupported", reason)

    def snapshot(self, wanted, out):
        """Writes a snapshot, and tells what it was and cost."""
        started = _monotonic()
        recording = self._torch.recording()
        whole, held = self._torch.take()
        notes = []
        if wanted["format"] == "segments":
            name = _MAP_SCHEMA
            self._write_map(whole["segments"], wanted["devices"], out)
            self._maps_cost.add(_monotonic() - started)
        else:
            with _imports:
                import pickle

            name = "pytorch"
            # What _dump_snapshot does: the C code hands over some 64 KiB at a time,
            # and other threads run in between.
            pickle.Pickler(out).dump(whole)
            if recording:
                notes.append("it holds the history that the program records")
            if held > 0.1:
                notes.append("the program stood still for %.1f s while PyTorch made it" % held)
        out.end()
        answer = {"format": name, "bytes": out.at, "ms": round((_monotonic() - started) * 1000, 3)}
        if notes:
            answer["notes"] = notes
        return answer

    def _write_map(self, segments, uuids, out):
        by_device = {}
        for segment in segments:
            by_device.setdefault(segment.get("device", 0), []).append(segment)
        chosen = []
        for ordinal in sorted(by_device)[:_MAX_DEVICES]:
            device = self._device(ordinal)
            if device is not None and (not uuids or device["uuid"] in uuids):
                chosen.append((device["uuid"], by_device[ordinal]))
        import json

        out.add(json.dumps({"schema": _MAP_SCHEMA, "time_ns": _time_ns()})[:-1] + ',"devices":[')
        comma = ""
        for uuid, segments in _within_bounds(chosen):
            left = segments.pop()
            out.add('%s{"uuid":%s,"left":%d,"segments":[' % (comma, json.dumps(uuid), left))
            comma = ""
            for segment, pieces in segments:
                out.add(comma + json.dumps(_described(segment, pieces), separators=(",", ":")))
                comma = ","
            out.add("]}")
            comma = ","
        out.add("]}")


def _reserved(device):
    return sum(a.get("reserved_bytes", 0) for a in device["allocators"])


def _returnable(device):
    return sum(a.get("returnable_bytes", a.get("cached_bytes", 0)) for a in device["allocators"])
