def _decode(line):
    """A request as a dict. Lines that would expand to many objects are refused first."""
    if line.count(b",") > _MAX_MEMBERS or line.count(b"[") + line.count(b"{") > _MAX_DEPTH:
        raise _Refusal("bad_request", "too many members in one line")
    try:
        request = _decoded(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _Refusal("bad_request", _clip(error))
    if not isinstance(request, dict):
        raise _Refusal("bad_request", "not a JSON object")
    return request


def _is_count(value, most):
    return type(value) is int and 0 <= value <= most


def _flush_request(request):
    level = request.get("level")
    if level not in ("gradual", "selective", "urgent"):
        raise _Refusal("bad_request", "level can be gradual, selective or urgent")
    keep, dry = request.get("keep_bytes", 0), request.get("dry_run", False)
    if not _is_count(keep, _MAX_BYTES):
        raise _Refusal("bad_request", "keep_bytes is not an amount of memory")
    if not isinstance(dry, bool):
        raise _Refusal("bad_request", "dry_run is true or false")
    return {"level": level, "keep_bytes": keep, "dry_run": dry, "devices": _chosen_devices(request)}


def _snapshot_request(request):
    name = request.get("format", "segments")
    if not isinstance(name, str):
        raise _Refusal("bad_request", "format is not a word")
    devices = _chosen_devices(request)
    if name not in ("segments", "pytorch", "summary"):
        raise _Refusal("unsupported", "a snapshot here is segments, pytorch or summary, not %s" % _clip(ascii(name)))
    record = request.get("record")
    if record is not None and not (name == "pytorch" and isinstance(record, dict) and _is_count(record.get("seconds"), _RECORD_MOST)
                                   and _is_count(record.get("steps", 0), _MAX_COUNT)):
        raise _Refusal("bad_request", "record is for a pytorch snapshot: seconds, at most %d, and steps" % _RECORD_MOST)
    return {"format": name, "devices": devices, "record": record}


def _chosen_devices(request):
    devices = request.get("devices")
    devices = [] if devices is None else devices
    if not isinstance(devices, list) or len(devices) > _MAX_DEVICES or not all(map(_is_uuid, devices)):
        raise _Refusal("bad_request", "devices are at most 64 UUIDs in NVML's form, as in stats")
    return devices


def _check_snapshot_fd(fd):
    """Refuses a descriptor other than a writable regular file: writing to a pipe
    that is not read would block the thread."""
    if fd is None:
        raise _Refusal("bad_request", "a snapshot needs a descriptor to write to (SCM_RIGHTS)")
    if posix.fstat(fd).st_mode & 0o170000 != 0o100000:
        raise _Refusal("bad_request", "the descriptor is not a regular file or memfd")
    _, _, flags = _read("/proc/self/fdinfo/%d" % fd).partition(b"\nflags:")
    if int(flags.split(None, 1)[0], 8) & posix.O_ACCMODE == posix.O_RDONLY:
        raise _Refusal("bad_request", "the descriptor is not open for writing")


def _is_uuid(text):
    return (
        isinstance(text, str)
        and text[:4] in ("GPU-", "MIG-")
        and 4 < len(text) <= 96
        and all(c.isalnum() or c in "-/" for c in text)
        and text.isascii()
    )


class _FlushRate:
    """A token bucket: _FLUSH_BURST flushes at once, then one every _FLUSH_EVERY."""

    def __init__(self):
        self._spent, self._at = 0.0, 0.0

    def take(self):
        """Counts a flush and returns 0, or returns the seconds until one is allowed."""
        now = _monotonic()
        self._spent = max(0.0, self._spent - (now - self._at) / _FLUSH_EVERY)
        self._at = now
        over = self._spent + 1 - _FLUSH_BURST
        if over > 0:
            return over * _FLUSH_EVERY
        self._spent += 1
        return 0


def _public(report):
    """A report without the keys that are internal."""
    devices = [{key: d[key] for key in d if key != "ordinal"} for d in report["devices"]]
    return dict(report, devices=devices)


def _failure(number, refusal):
    return {"id": number, "ok": False, "error": {"code": refusal.code, "message": _clip(refusal)}}


def _encode(answer):
    line = _encoded(answer).encode("ascii") + b"\n"
    if len(line) > _MAX_LINE:
        line = _encode(_failure(answer.get("id"), _Refusal("internal", "the answer does not fit a line")))
    return line
