"""The probe's report of PyTorch's allocator against torch.cuda.memory_stats() and memory_snapshot(), exactly."""

from gpucheck.blocks import Blocks
from gpucheck.figures import compare_bytes, judged, show
from gpucheck.programs import CannotCheck


def figure(stats, key, which="current", part="all"):
    """A figure of memory_stats, or None if this release has none."""
    return stats.get(f"{key}.{part}.{which}")


def native(probe):
    return one(probe, "pytorch")


def one(probe, kind):
    """The only allocator of a kind in the probe's newest report."""
    found = [a for a in probe.stats().allocators if a["kind"] == kind]
    if len(found) != 1:
        raise CannotCheck(f"the probe reports {len(found)} allocators of the kind {kind}")
    return found[0]


def counted(where, what, theirs, ours):
    """A row about a value that is not bytes, compared exactly. It has no verdict if theirs is unknown."""
    row = judged(where, what, show(theirs), show(ours), theirs == ours, "exact")
    row.verdict = "–" if theirs is None else row.verdict
    return row


def compare_native(where, job, probe, expandable):
    """Compares the caching allocator. memory_stats counts neither expandable segments nor fragmented memory in them."""
    stats, blocks, reported = job.ask("stats"), Blocks(job.ask("segments")), native(probe)
    active, reserved = figure(stats, "active_bytes"), figure(stats, "reserved_bytes")
    pairs = [
        ("reserved, by memory_stats", reserved, "reserved_bytes"),
        ("reserved, by the segments", blocks.reserved, "reserved_bytes"),
        ("allocated, by memory_stats", active, "allocated_bytes"),
        ("allocated, by the blocks", blocks.live, "allocated_bytes"),
        ("pending, by memory_stats", active - figure(stats, "allocated_bytes"), "pending_bytes"),
        ("fragmented, by the blocks", blocks.fragmented, "fragmented_bytes"),
        ("cached, by the blocks", blocks.free - blocks.fragmented, "cached_bytes"),
        ("returnable, by the blocks", blocks.free - blocks.fragmented + blocks.pending_freed, "returnable_bytes"),
        ("largest free block", blocks.largest_free, "largest_free_bytes"),
        ("peak allocated", figure(stats, "active_bytes", "peak"), "peak_allocated_bytes"),
        ("peak reserved", figure(stats, "reserved_bytes", "peak"), "peak_reserved_bytes"),
    ]
    if not expandable:
        pairs.append(("fragmented, by memory_stats", figure(stats, "inactive_split_bytes"), "fragmented_bytes"))
    rows = [compare_bytes(where, what, [theirs], [reported.get(key)], 0) for what, theirs, key in pairs]
    rows += [counted(where, what, theirs, reported.get(key)) for what, theirs, key in (
        ("segments", blocks.segments if expandable else figure(stats, "segment"), "segments"),
        ("live blocks", figure(stats, "active"), "blocks"),
        ("fragmented segments", blocks.stranded_segments, "stranded_segments"),
        ("out of memory", stats.get("num_ooms"), "out_of_memory_count"),
        ("retries", stats.get("num_alloc_retries"), "alloc_retries"),
        ("basis", "stranded", "basis"),
    )]
    if expandable:
        rows.append(compare_config(where, reported, "expandable_segments:True"))
    return rows + compare_parts(where, stats, reported)


def compare_parts(where, stats, reported):
    """Compares the small and the large pool."""
    rows, pools = [], {pool["name"]: pool for pool in reported.get("pools", ())}
    for name in ("small", "large"):
        for key, ours in (("reserved_bytes", "reserved_bytes"), ("active_bytes", "allocated_bytes")):
            theirs = figure(stats, key, part=name + "_pool")
            rows.append(compare_bytes(where, f"{name} pool, {ours.removesuffix('_bytes')}", [theirs],
                                      [pools.get(name, {}).get(ours)], 0))
    return rows


def compare_config(where, reported, set_to):
    ours = reported.get("config") or ""
    return judged(where, "config", set_to, ours, set_to.lower() in ours.lower())


def compare_pool(where, job, probe, set_to):
    """Compares the driver's pool under cudaMallocAsync with PyTorch's statistics."""
    reported = one(probe, "cuda_pool")
    return compare_sums(where, job, probe) + [
        counted(where, "basis", "post_flush", reported.get("basis")),
        counted(where, "fragmented before a flush", "–", show(reported.get("fragmented_bytes"))),
        compare_config(where, reported, set_to),
    ]


def compare_sums(where, job, probe):
    stats, reported = job.ask("stats"), one(probe, "cuda_pool")
    return [compare_bytes(where, f"{ours}, by memory_stats", [figure(stats, f"{ours}_bytes")], [reported.get(f"{ours}_bytes")], 0)
            for ours in ("reserved", "allocated")]


def compare_residue(where, job, probe):
    """A row: after a flush all memory that is reserved and not allocated must be reported as fragmented."""
    stats, reported = job.ask("stats"), one(probe, "cuda_pool")
    left = figure(stats, "reserved_bytes") - figure(stats, "allocated_bytes")
    return [compare_bytes(where, "fragmented, by what a flush left", [left], [reported.get("fragmented_bytes")], 0)]
