"""PyTorch under `vramscope run`: each of its allocators beside its own books, and NVML beside both.

    a context alone ── tensors taken, some given back ── books ── a flush at each level ── the snapshot

Half of what is given back lies between what stays, so that it is known
beforehand that memory is stuck.
"""

from gpucheck import torchbooks
from gpucheck.figures import MIB, compare_bytes, in_mib, judged, noted, show
from gpucheck.job import python_job, running, settled_rows
from gpucheck.patterns import OTHER_SLACK, row_of
from gpucheck.programs import CannotCheck, flush, once
from gpucheck.release import EXACT, LEVELS
from gpucheck.torchsnapshot import check_snapshot, refuses_snapshot

LIVE = [64 * MIB] * 3 + [300_000] * 40
BETWEEN = [3 * MIB] * 24     # every other one is given back: stuck between its neighbours
SPARE = [48 * MIB] * 4       # all of it is given back: a flush returns it


def check_native(bench, findings):
    with torch_job(bench) as job:
        check_allocator(job, findings, "pytorch")


def check_expandable(bench, findings):
    with torch_job(bench, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True") as job:
        check_allocator(job, findings, "expandable", expandable=True)


def check_async(bench, findings):
    """The driver's pool in the allocator's place: what is stuck shows in a flush, and nobody tells of blocks."""
    where = "async"
    with torch_job(bench, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync") as job:
        bare = fill(job, findings, where)
        with job.probe() as probe:
            findings.rows += settled_rows(lambda: torchbooks.compare_pool(where, job, probe, "backend:cudaMallocAsync"))
            findings.rows += compare_outside(where, job, probe, bare)
            for level in LEVELS:
                check_flush(where, job, level, findings)
            findings.rows += settled_rows(lambda: torchbooks.compare_residue(where, job, probe))
        findings.rows.append(refuses_snapshot(where, job))
        findings.fixtures["async-stats"] = job.ask("stats")


def check_preloaded(bench, findings):
    """With the native library, too: its ledger has PyTorch's segments in it, which must not be counted twice."""
    where = "preloaded"
    with torch_job(bench, flags=("--preload",)) as job:
        fill(job, findings, where)
        job.ask("train")
        job.ask("rest")
        with job.probe("PyTorch") as probe:
            findings.rows += settled_rows(lambda: torchbooks.compare_native(where, job, probe, False))
            held, books = job.holding.bytes(), probe.books()
            raw = [allocator for allocator in books.allocators if allocator["kind"] == "raw"]
            beside = sum(allocator["allocated_bytes"] for allocator in raw)
            other = None if held is None else held - books.reserved
            findings.figures.update(raw_bytes=beside, raw_blocks=sum(allocator.get("blocks", 0) for allocator in raw),
                                    driver_bytes=held, other_bytes=other)
            findings.fixtures[where + "-report"] = probe.ask("stats")
            findings.rows.append(noted(where, "raw beside PyTorch's, MiB", show(in_mib(beside)), libraries_of(raw)))
            if other is not None:
                findings.rows.append(judged(where, "other, MiB", "0 or more: nothing twice", show(in_mib(other)), other >= 0))


def libraries_of(raw):
    """Whose code made the largest allocations."""
    return ", ".join(sorted({entry.get("library", "") for allocator in raw for entry in allocator.get("largest", ())} - {""}))


def torch_job(bench, probed=True, flags=(), **settings):
    return running(bench, *python_job(bench, "torch_job.py"), probed=probed, flags=flags, settings=settings)


def fill(job, findings, where):
    """Has the program hold what it should. Gives what its context alone cost, None where nobody knows."""
    job.ask("context")
    bare = job.find_in_driver()
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
    check_books(job, findings, where, bare, expandable)


def check_books(job, findings, where, bare, expandable=False):
    """A program that holds what fill_up gave it, from its books to its snapshot."""
    with job.probe() as probe:
        findings.rows += settled_rows(lambda: torchbooks.compare_native(where, job, probe, expandable))
        findings.rows += compare_outside(where, job, probe, bare)
        findings.rows += settled_rows(lambda: compare_once(where, job, probe))
        findings.fixtures[where + "-stats"] = job.ask("stats")
        findings.fixtures[where + "-segments"] = job.ask("segments")
        findings.fixtures[where + "-report"] = probe.ask("stats")
        check_snapshot(where, job, probe, findings)
        stuck = torchbooks.native(probe).get("fragmented_bytes")
        for level in LEVELS:
            check_flush(where, job, level, findings)
            if level == LEVELS[0]:
                findings.rows += compare_left(where, job, stuck)


def compare_left(where, job, stuck):
    """What the first flush left idle is what was said to be stuck before it."""
    stats = job.ask("stats")
    left = torchbooks.figure(stats, "reserved_bytes") - torchbooks.figure(stats, "active_bytes")
    return [compare_bytes(where, "stuck, by what a flush left", [left], [stuck], 0),
            judged(where, "stuck, MiB", "more than 0", show(in_mib(stuck)), (stuck or 0) > 0)]


def compare_outside(where, job, probe, bare):
    """What of the driver's figure no allocator holds: the context, as it was before the first tensor, and what came since."""
    held, books = job.holding.bytes(), probe.books()
    if held is None or bare is None:
        return [noted(where, "other, MiB", "–", "the driver does not tell this process's memory")]
    row = compare_bytes(where, "other, by a context alone", [bare], [held - books.reserved], OTHER_SLACK)
    return [row]


def compare_once(where, job, probe):
    """vramscope once beside the probe and NVML."""
    books, held = probe.books(), job.holding.bytes()
    shown = row_of(once(job.bench.vramscope), job.bench.uuid, job.pid)
    if shown is None and job.holding.whole_gpu:
        return [noted(where, "is listed by once", "False", "the driver does not list it here")]
    if shown is None:
        return [judged(where, "is listed by once", "True", "False", False, "exact")]
    rows = [compare_bytes(where, part + ", in once", [getattr(books, part)], [shown[part + "_bytes"]], 0)
            for part in ("allocated", "cached", "fragmented")]
    if not job.holding.whole_gpu:
        rows.append(compare_bytes(where, "used, in once", [held], [shown["used_bytes"]], 0))
    return rows


def check_flush(where, job, level, findings):
    """Something idle is given back: the driver's figure falls by what is said, and so does reserved."""
    if level != LEVELS[0]:  # as fill_up left it
        job.ask("take", name="spare", sizes=SPARE)
        job.ask("give", name="spare")
    where = f"{where}, flush {level}"
    reserved, held = torchbooks.figure(job.ask("stats"), "reserved_bytes"), job.holding.bytes()
    done = flush(job.bench.vramscope, job.pid, "--level", level)
    after, held_after = torchbooks.figure(job.ask("stats"), "reserved_bytes"), job.holding.bytes()
    if not done["devices"]:
        raise CannotCheck(f"vramscope flush tells of no device: {done}")
    freed = done["freed_bytes"]
    drop = None if None in (held, held_after) else held - held_after
    findings.rows += [
        compare_bytes(where, "freed, by memory_stats", [reserved - after], [freed], 0),
        compare_bytes(where, "freed, by the driver", [drop], [freed], EXACT),
        judged(where, "freed, MiB", f"{show(in_mib(sum(SPARE) // 2))} or more", show(in_mib(freed)), freed >= sum(SPARE) // 2),
    ]
    findings.flushes.append({"where": where, "before_bytes": done["before_bytes"], "after_bytes": done["after_bytes"],
                             "freed_bytes": freed, "driver_freed_bytes": drop, "ms": done["ms"], "notes": done["notes"]})
