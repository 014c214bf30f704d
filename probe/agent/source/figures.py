# The figures of PyTorch's caching allocator, with the protocol's keys. What is unknown is left out.


def _allocator(stats, seen, settings):
    """Returns a device's figures. seen is what the last snapshot showed, or None without one."""
    a = {"kind": "pytorch", "basis": "stranded"}
    asleep = _take_asleep(stats, seen)
    if asleep:
        a["asleep_bytes"] = asleep
    a.update(_counts(stats, seen, settings))
    reserved, active = _figure(stats, "reserved_bytes"), _figure(stats, "active_bytes")
    if reserved is None or active is None:
        return a
    active = min(active, reserved)
    a["allocated_bytes"] = active
    allocated, split = _figure(stats, "allocated_bytes"), _figure(stats, "inactive_split_bytes")
    pending = 0
    if allocated is not None:
        a["pending_bytes"] = pending = max(active - allocated, 0)
    if seen is not None:
        a["largest_free_bytes"] = min(seen["largest"], reserved - active)
    if split is None or (seen is None and settings.expandable(stats)):
        return a  # only a snapshot shows what is fragmented in expandable segments
    fragmented = split + (sum(seen["fragmented"].values()) if seen else 0)
    a["fragmented_bytes"] = fragmented = max(min(fragmented, reserved - active), 0)
    a["cached_bytes"] = reserved - active - fragmented
    a.update(_returnable_figures(a["cached_bytes"], pending, seen, settings))
    return a


def _take_asleep(stats, seen):
    """Subtracts sleeping memory from a device's statistics, and returns its bytes."""
    asleep = seen["asleep"] if seen else {}
    for key, parts in asleep.items():
        for part, size in parts.items():
            counted = stats.get(key, {}).get(part)
            if counted:
                counted["current"] = max(counted["current"] - size, 0)
    return asleep.get("reserved_bytes", {}).get("all", 0)


def _returnable_figures(cached, pending, seen, settings):
    """Returns what a flush frees, and how exact that is."""
    if seen is None:  # a part may lie in private pools, and a flush frees some pending memory, too
        return {"returnable_bytes": cached, "returnable_bound": "about" if pending else "most"}
    returnable = {"returnable_bytes": max(cached - seen["private"], 0) + min(seen["pending"], pending)}
    if seen["expandable"]["large"] and not settings.large_page()[1]:
        returnable["returnable_bound"] = "about"
    elif seen["private"]:
        returnable["returnable_bound"] = "least"
    return returnable


def _counts(stats, seen, settings):
    """An allocator's reserved bytes, peaks, counts, settings and pools."""
    segments = _segments(stats, seen, settings, "all")
    counts = {
        "reserved_bytes": _figure(stats, "reserved_bytes"),
        "peak_allocated_bytes": _figure(stats, "active_bytes", "peak"),
        "peak_reserved_bytes": _figure(stats, "reserved_bytes", "peak"),
        "segments": segments,
        "blocks": _figure(stats, "active"),
        "out_of_memory_count": _figure(stats, "num_ooms", None),
        "alloc_retries": _figure(stats, "num_alloc_retries", None),
        "config": settings.text() or None,
    }
    if seen is not None and segments is not None:
        counts["stranded_segments"] = min(seen["mixed"], segments)
    pools = [_pool(stats, seen, settings, name) for name in ("small", "large")]
    if None not in pools:
        counts["pools"] = pools
    return {name: value for name, value in counts.items() if value is not None}


def _segments(stats, seen, settings, part):
    """Returns the number of segments, or None if it is unknown. PyTorch counts the ordinary ones, and
    a snapshot shows the expandable ones."""
    ordinary = _figure(stats, "segment", part=part if part == "all" else part + "_pool")
    if ordinary is None or (seen is None and settings.expandable(stats)):
        return None
    expandable = seen["expandable"] if seen else {}
    return ordinary + (sum(expandable.values()) if part == "all" else expandable.get(part, 0))


def _pool(stats, seen, settings, name):
    """The figures of the small pool, of blocks up to 1 MiB, or of the large one."""
    own = name + "_pool"
    reserved, active = _figure(stats, "reserved_bytes", part=own), _figure(stats, "active_bytes", part=own)
    if reserved is None or active is None:
        return None
    pool = {"name": name, "reserved_bytes": reserved, "allocated_bytes": active}
    split, segments = _figure(stats, "inactive_split_bytes", part=own), _segments(stats, seen, settings, name)
    if split is not None and not (seen is None and settings.expandable(stats)):
        pool["fragmented_bytes"] = max(split + (seen["fragmented"][name] if seen else 0), 0)
    if segments is not None:
        pool["segments"] = segments
    return pool


def _figure(stats, key, which="current", part="all"):
    """A figure of memory_stats, flat or nested, or None if this release has none."""
    value = stats.get(key)
    if which is not None:
        value = stats.get("%s.%s.%s" % (key, part, which)) if value is None else value.get(part, {}).get(which)
    return value if isinstance(value, int) and value >= 0 else None


def _blocks(every):
    """Roughly how many blocks and segments a snapshot would hold."""
    return sum(_figure(s, key) or 0 for s in every for key in ("active", "inactive_split", "segment"))


def _totals(stats):
    """(allocations so far, frees so far, bytes allocated now)"""
    return _figure(stats, "allocation", "allocated"), _figure(stats, "allocation", "freed"), _figure(stats, "allocated_bytes")
