"""The probe's report of PyTorch's allocator beside torch.cuda.memory_stats() and memory_snapshot(), to the byte."""

from gpucheck.blocks import Blocks
from gpucheck.figures import compare_bytes, judged, show
from gpucheck.programs import CannotCheck


def figure(stats, key, which="current", part="all"):
    """A figure of memory_stats, None where this release does not tell it."""
    return stats.get(f"{key}.{part}.{which}")


def native(probe):
    return one(probe, "pytorch")


def one(probe, kind):
    """The only allocator of a kind in the probe's newest report."""
    found = [a for a in probe.books().allocators if a["kind"] == kind]
    if len(found) != 1:
        raise CannotCheck(f"the probe tells of {len(found)} allocators of the kind {kind}")
    return found[0]


def counted(where, what, theirs, ours):
    """A row of numbers that are no bytes; compares nothing where NVIDIA's side does not tell."""
    row = judged(where, what, show(theirs), show(ours), theirs == ours, "exact")
    row.verdict = "–" if theirs is None else row.verdict
    return row


def compare_native(where, job, probe, expandable):
    """The caching allocator. The statistics leave out what is stuck in expandable segments."""
    stats, blocks, told = job.ask("stats"), Blocks(job.ask("segments")), native(probe)
    active, reserved = figure(stats, "active_bytes"), figure(stats, "reserved_bytes")
    pairs = [
        ("reserved, by memory_stats", reserved, "reserved_bytes"),
        ("reserved, by the segments", blocks.reserved, "reserved_bytes"),
        ("allocated, by memory_stats", active, "allocated_bytes"),
        ("allocated, by the blocks", blocks.live, "allocated_bytes"),
        ("pending, by memory_stats", active - figure(stats, "allocated_bytes"), "pending_bytes"),
        ("stuck, by the blocks", blocks.stuck, "fragmented_bytes"),
        ("cached, by the blocks", blocks.free - blocks.stuck, "cached_bytes"),
        ("returnable, by the blocks", blocks.free - blocks.stuck, "returnable_bytes"),
        ("largest free block", blocks.largest_free, "largest_free_bytes"),
        ("peak allocated", figure(stats, "active_bytes", "peak"), "peak_allocated_bytes"),
        ("peak reserved", figure(stats, "reserved_bytes", "peak"), "peak_reserved_bytes"),
    ]
    if not expandable:
        pairs.append(("stuck, by memory_stats", figure(stats, "inactive_split_bytes"), "fragmented_bytes"))
    rows = [compare_bytes(where, what, [theirs], [told.get(key)], 0) for what, theirs, key in pairs]
    rows += [counted(where, what, theirs, told.get(key)) for what, theirs, key in (
        ("segments", figure(stats, "segment"), "segments"),
        ("live blocks", figure(stats, "active"), "blocks"),
        ("segments with memory stuck", blocks.stranded_segments, "stranded_segments"),
        ("out of memory", stats.get("num_ooms"), "out_of_memory_count"),
        ("retries", stats.get("num_alloc_retries"), "alloc_retries"),
        ("basis", "stranded", "basis"),
    )]
    if expandable:
        rows.append(compare_config(where, told, "expandable_segments:True"))
    return rows + compare_parts(where, stats, told)


def compare_parts(where, stats, told):
    """The small and the large pool."""
    rows, pools = [], {pool["name"]: pool for pool in told.get("pools", ())}
    for name in ("small", "large"):
        for key, ours in (("reserved_bytes", "reserved_bytes"), ("active_bytes", "allocated_bytes")):
            theirs = figure(stats, key, part=name + "_pool")
            rows.append(compare_bytes(where, f"{name} pool, {ours.removesuffix('_bytes')}", [theirs],
                                      [pools.get(name, {}).get(ours)], 0))
    return rows


def compare_config(where, told, set_to):
    ours = told.get("config") or ""
    return judged(where, "config", set_to, ours, set_to.lower() in ours.lower())


def compare_pool(where, job, probe, set_to):
    """cudaMallocAsync: the driver's pool, which PyTorch's statistics tell of, too."""
    stats, told = job.ask("stats"), one(probe, "cuda_pool")
    return [
        compare_bytes(where, "reserved, by memory_stats", [figure(stats, "reserved_bytes")], [told.get("reserved_bytes")], 0),
        compare_bytes(where, "allocated, by memory_stats", [figure(stats, "allocated_bytes")], [told.get("allocated_bytes")], 0),
        counted(where, "basis", "post_flush", told.get("basis")),
        counted(where, "stuck before a flush", "–", show(told.get("fragmented_bytes"))),
        compare_config(where, told, set_to),
    ]


def compare_residue(where, job, probe):
    """After a flush, what is reserved and not used is stuck."""
    stats, told = job.ask("stats"), one(probe, "cuda_pool")
    left = figure(stats, "reserved_bytes") - figure(stats, "allocated_bytes")
    return [compare_bytes(where, "stuck, by what a flush left", [left], [told.get("fragmented_bytes")], 0)]
