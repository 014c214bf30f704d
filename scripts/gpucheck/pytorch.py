"""PyTorch under `vramscope run`: the probe's stats of each allocator against PyTorch's and NVML's.

    a context alone ── tensors, some freed ── stats ── snapshot ── a flush at each level

Half of the freed tensors lie between live ones, so some memory is certainly
fragmented.
"""

from gpucheck import torchstats
from gpucheck.figures import MIB, compare_bytes, in_mib, judged, noted, show
from gpucheck.job import python_job, running, settled_rows
from gpucheck.patterns import OTHER_SLACK, row_of
from gpucheck.programs import CannotCheck, flush, once
from gpucheck.release import EXACT, LEVELS
from gpucheck.torchsnapshot import check_snapshot, refuses_snapshot

LIVE = [64 * MIB] * 3 + [300_000] * 40
BETWEEN = [3 * MIB] * 24     # every other tensor is freed: fragmented
SPARE = [48 * MIB] * 4       # all are freed: returnable
PENDING = 256 * MIB          # freed while the GPU works
MOMENTS = {"freed": "just freed", "synchronize": "after synchronize", "empty": "after empty_cache"}


def check_native(bench, findings):
    with torch_job(bench) as job:
        check_allocator(job, findings, "pytorch")


def check_expandable(bench, findings):
    with torch_job(bench, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True") as job:
        check_allocator(job, findings, "expandable", expandable=True)


def check_async(bench, findings):
    """Checks cudaMallocAsync, whose fragmentation is known only after a flush, and whose blocks are unknown."""
    where = "async"
    with torch_job(bench, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync") as job:
        bare = fill(job, findings, where, first=1024)
        with job.probe() as probe:
            findings.rows += settled_rows(lambda: torchstats.compare_pool(where, job, probe, "backend:cudaMallocAsync"))
            findings.rows += compare_outside(where, job, probe, bare)
            for level in LEVELS:
                check_flush(where, job, level, findings)
            findings.rows += settled_rows(lambda: torchstats.compare_residue(where, job, probe))
            check_pending(where, job, probe, findings)
        findings.rows.append(refuses_snapshot(where, job))
        findings.fixtures["async-stats"] = job.ask("stats")


def check_pending(where, job, probe, findings):
    """Records which figures contain memory that was freed while the GPU worked, because that is documented nowhere."""
    def figures():
        stats = job.ask("stats")
        return {"allocated": torchstats.figure(stats, "allocated_bytes"), "reserved": torchstats.figure(stats, "reserved_bytes"),
                "driver": job.holding.bytes()}

    where += ", pending"
    before, pending = figures(), job.ask("pend", size=PENDING)
    seen = {"freed": figures()}
    findings.rows += settled_rows(lambda: torchstats.compare_sums(where, job, probe))
    for step in ("synchronize", "empty"):
        job.ask(step)
        seen[step] = figures()
    findings.figures["pending_while_read"] = pending
    for moment, now in seen.items():
        grown = {name: None if None in (value, before[name]) else value - before[name] for name, value in now.items()}
        findings.figures.update({f"pending_{moment}_{name}_bytes": value for name, value in grown.items()})
        findings.rows.append(noted(where, f"{MOMENTS[moment]}: allocated, reserved, driver, MiB",
                                   ", ".join(show(in_mib(value)) for value in grown.values()),
                                   f"of {show(in_mib(PENDING))}, the GPU at work: {show(pending)}"))
    left = max(seen["empty"][name] - before[name] for name in ("allocated", "reserved"))
    findings.rows.append(judged(where, "left after empty_cache, MiB", "0 or less", show(in_mib(left)), left <= 0))


def check_preloaded(bench, findings):
    """Checks PyTorch with the preloaded library, whose ledger contains PyTorch's segments: they must not be counted twice.

    If an allocation is refused, the library must ask for a rescue, although no daemon answers.
    """
    where = "preloaded"
    with torch_job(bench, flags=("--rescue",)) as job:
        fill(job, findings, where)
        job.ask("train")
        job.ask("rest")
        with job.probe("PyTorch") as probe:
            findings.rows += settled_rows(lambda: torchstats.compare_native(where, job, probe, False))
            held, stats = job.holding.bytes(), probe.stats()
            raw = [allocator for allocator in stats.allocators if allocator["kind"] == "raw"]
            beside = sum(allocator["allocated_bytes"] for allocator in raw)
            other = None if held is None else held - stats.reserved
            findings.figures.update(raw_bytes=beside, raw_blocks=sum(allocator.get("blocks", 0) for allocator in raw),
                                    driver_bytes=held, other_bytes=other)
            findings.fixtures[where + "-report"] = probe.ask("stats")
            findings.rows.append(noted(where, "raw beside PyTorch's, MiB", show(in_mib(beside)), libraries_of(raw)))
            if other is not None:
                findings.rows.append(judged(where, "other, MiB", "0 or more: nothing twice", show(in_mib(other)), other >= 0))
            job.ask("refused")
            findings.rows += settled_rows(lambda: [compare_rescues(where, probe)])


def compare_rescues(where, probe):
    asked = probe.ask("stats")["devices"][0].get("rescues", {}).get("asked", 0)
    return judged(where, "rescues asked for", "1 or more", show(asked), asked > 0)


def libraries_of(raw):
    """The libraries that made the largest allocations."""
    return ", ".join(sorted({entry.get("library", "") for allocator in raw for entry in allocator.get("largest", ())} - {""}))


def torch_job(bench, probed=True, flags=(), **settings):
    return running(bench, *python_job(bench, "torch_job.py"), probed=probed, flags=flags, settings=settings)


def fill(job, findings, where, first=0):
    """Makes the program allocate. Returns the cost of its context alone, or None if unknown.

    The driver's pools cost 70 MiB on an H200, at the first allocation. If `first` is given, that
    many bytes are allocated first, and the context's cost includes what the pools cost, without
    what they reserve for the allocation.
    """
    job.ask("context")
    bare = job.find_in_driver()
    if first and bare is not None:
        job.ask("take", name="first", sizes=[first])
        alone, bare = bare, job.holding.bytes() - torchstats.figure(job.ask("stats"), "reserved_bytes")
        findings.figures["pool_bytes"] = bare - alone
        findings.rows.append(noted(where, "the first allocation costs besides, MiB", show(in_mib(bare - alone))))
        job.ask("give", name="first")
    findings.figures["version"] = job.version
    findings.figures["context_bytes"] = bare
    findings.rows.append(noted(where, "context alone, MiB", show(in_mib(bare)),
                               "whole-GPU figures from here on" if job.holding.whole_gpu else ""))
    fill_up(job)
    return bare


def fill_up(job):
    for name, sizes in (("live", LIVE), ("between", BETWEEN), ("spare", SPARE)):
        job.ask("take", name=name, sizes=sizes)
    job.ask("give", name="between", each=2)
    job.ask("give", name="spare")


def check_allocator(job, findings, where, expandable=False):
    bare = fill(job, findings, where)
    check_stats(job, findings, where, bare, expandable)


def check_stats(job, findings, where, bare, expandable=False):
    """Checks a program after fill_up: stats, snapshot, flushes."""
    with job.probe() as probe:
        findings.rows += settled_rows(lambda: torchstats.compare_native(where, job, probe, expandable))
        findings.rows += compare_outside(where, job, probe, bare)
        findings.rows += settled_rows(lambda: compare_once(where, job, probe))
        findings.fixtures[where + "-stats"] = job.ask("stats")
        findings.fixtures[where + "-segments"] = job.ask("segments")
        findings.fixtures[where + "-report"] = probe.ask("stats")
        check_snapshot(where, job, probe, findings)
        fragmented = torchstats.native(probe).get("fragmented_bytes")
        for level in LEVELS:
            check_flush(where, job, level, findings)
            if level == LEVELS[0]:
                findings.rows += compare_left(where, job, fragmented)


def compare_left(where, job, fragmented):
    """Memory that the first flush left idle must equal what was reported as fragmented before it."""
    stats = job.ask("stats")
    left = torchstats.figure(stats, "reserved_bytes") - torchstats.figure(stats, "active_bytes")
    return [compare_bytes(where, "fragmented, by what a flush left", [left], [fragmented], 0),
            judged(where, "fragmented, MiB", "more than 0", show(in_mib(fragmented)), (fragmented or 0) > 0)]


def compare_outside(where, job, probe, bare):
    """The driver's figure less the allocators' must equal what the context cost before the first tensor."""
    held, stats = job.holding.bytes(), probe.stats()
    if held is None or bare is None:
        return [noted(where, "other, MiB", "–", "the driver does not report this process's memory")]
    row = compare_bytes(where, "other, by a context alone", [bare], [held - stats.reserved], OTHER_SLACK)
    return [row]


def compare_once(where, job, probe):
    """Compares vramscope once with the probe and NVML."""
    stats, held = probe.stats(), job.holding.bytes()
    shown = row_of(once(job.bench.vramscope), job.bench.uuid, job.pid)
    if shown is None and job.holding.whole_gpu:
        return [noted(where, "is listed by once", "False", "the driver does not list it here")]
    if shown is None:
        return [judged(where, "is listed by once", "True", "False", False, "exact")]
    rows = [compare_bytes(where, part + ", in once", [getattr(stats, part)], [shown[part + "_bytes"]], 0)
            for part in ("allocated", "cached", "fragmented")]
    if not job.holding.whole_gpu:
        rows.append(compare_bytes(where, "used, in once", [held], [shown["used_bytes"]], 0))
    return rows


def check_flush(where, job, level, findings):
    """Flushes idle memory: the driver's figure and reserved must fall by the reported amount."""
    if level != LEVELS[0]:  # as fill_up left it
        job.ask("take", name="spare", sizes=SPARE)
        job.ask("give", name="spare")
    where = f"{where}, flush {level}"
    reserved, held = torchstats.figure(job.ask("stats"), "reserved_bytes"), job.holding.bytes()
    done = flush(job.bench.vramscope, job.pid, "--level", level)
    after, held_after = torchstats.figure(job.ask("stats"), "reserved_bytes"), job.holding.bytes()
    if not done["devices"]:
        raise CannotCheck(f"vramscope flush reports no device: {done}")
    freed = done["freed_bytes"]
    drop = None if None in (held, held_after) else held - held_after
    findings.rows += [
        compare_bytes(where, "freed, by memory_stats", [reserved - after], [freed], 0),
        compare_bytes(where, "freed, by the driver", [drop], [freed], EXACT),
        judged(where, "freed, MiB", f"{show(in_mib(sum(SPARE) // 2))} or more", show(in_mib(freed)), freed >= sum(SPARE) // 2),
    ]
    findings.flushes.append({"where": where, "before_bytes": done["before_bytes"], "after_bytes": done["after_bytes"],
                             "freed_bytes": freed, "driver_freed_bytes": drop, "ms": done["ms"], "notes": done["notes"]})
