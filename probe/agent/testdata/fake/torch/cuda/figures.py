"""memory_stats of a release: which keys there are, and counters for them."""

COUNTED = ("allocation", "segment", "active", "inactive_split", "allocated_bytes", "reserved_bytes", "active_bytes",
           "inactive_split_bytes", "requested_bytes")
PARTS = "all", "small_pool", "large_pool"


def counter(current=0, peak=0):
    return {"current": current, "peak": peak, "allocated": 0, "freed": 0}


def parts():
    return {part: counter() for part in PARTS}


def empty(release):
    """All keys of a release, with zeros."""
    stats = {key: parts() for key in COUNTED if key != "requested_bytes" or release >= (2, 0)}
    stats.update(oversize_allocations=counter(), oversize_segments=counter(), num_alloc_retries=0, num_ooms=0, max_split_size=-1)
    if release >= (2, 1):
        stats["num_sync_all_streams"] = 0
    if release >= (2, 8):
        stats.update(num_device_alloc=0, num_device_free=0)
    if release > (2, 8):  # 2.15 has them
        stats.update(num_oom_rejections=0, reserved_bytes_by_private_pools={})
    return stats


def follow(figure, now):
    """Has a counter follow a figure."""
    change = now - figure["current"]
    figure["allocated" if change > 0 else "freed"] += abs(change)
    figure["current"], figure["peak"] = now, max(figure["peak"], now)


def flat(stats):
    """Makes memory_stats, with joined names, from the nested statistics. The IDs of pools are
    pairs."""
    def joined(prefix, value):
        if not isinstance(value, dict):
            return {prefix: value}
        found = {}
        for key, inner in value.items():
            key = "_".join(map(str, key)) if isinstance(key, tuple) else key
            found.update(joined(prefix + "." + key if prefix else key, inner))
        return found

    return joined("", stats)
