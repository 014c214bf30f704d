"""A native program under `vramscope run`: the preloaded library's ledger against the program's own sums, cuMemGetInfo and NVML.

The program is built here, by nvcc (NVIDIA's runtime, linked statically) or by cc
(libcuda, loaded). The cost of a hook is measured as the difference between runs with
and without the library, and recorded.
"""

import json
import os
import shutil
import statistics

from gpucheck.figures import MIB, compare_bytes, in_mib, judged, noted, show
from gpucheck.job import JOBS, Missing, running, settled_rows
from gpucheck.patterns import OTHER_SLACK
from gpucheck.programs import CannotCheck, flush, run
from gpucheck.pytorch import compare_once
from gpucheck.release import EXACT
from gpucheck.torchstats import counted, one

SOURCE = os.path.join(JOBS, "native_job.c")
TAKEN = ("take odd 20 300001", f"take large 6 {32 * MIB}", f"take gone 3 {20 * MIB}", "give gone",
         f"pool pooled 4 {64 * MIB}")
SPARE = (f"pool spare 4 {64 * MIB}", "give spare")
SPARE_BYTES = 4 * 64 * MIB
BUILD_SECONDS = 40
ROUNDS, BATCHES, PAIRS = 2, 15, 100


def check_native(bench, findings):
    where = "native"
    program = built(bench)
    with running(bench, program) as job:
        findings.figures["built_by"] = job.version
        send(job, "begin")
        bare = job.find_in_driver()
        findings.figures["context_bytes"] = bare
        free = send(job, "stats")["free"]
        for step in (*TAKEN, *SPARE):
            send(job, step)
        with job.probe() as probe:
            findings.rows += settled_rows(lambda: compare_ledger(where, job, probe))
            held, stats = job.holding.bytes(), probe.stats()
            taken = free - send(job, "stats")["free"]
            findings.rows.append(compare_bytes(where, "taken, by cuMemGetInfo", [taken], [stats.reserved], OTHER_SLACK))
            outside = None if held is None else held - stats.reserved
            findings.rows.append(compare_bytes(where, "other, by a context alone", [bare], [outside], OTHER_SLACK))
            findings.figures.update(reserved_bytes=stats.reserved, driver_bytes=held, other_bytes=outside)
            findings.rows += settled_rows(lambda: compare_used(where, job, probe))
            findings.fixtures["native"] = {"stats": send(job, "stats"), "report": probe.ask("stats")}
            check_flush(where, job, findings)
            findings.rows += settled_rows(lambda: compare_ledger(where + ", flushed", job, probe))
    measure_hook(bench, program, findings)


def built(bench):
    """Builds the program with nvcc or, failing that, cc."""
    program = os.path.join(bench.scratch, "native_job")
    nvcc, cc = shutil.which("nvcc"), shutil.which("cc")
    if nvcc:
        try:
            run(nvcc, "-x", "cu", "-O2", "-o", program, SOURCE, seconds=BUILD_SECONDS)
            return program
        except CannotCheck:
            if not cc:  # nvcc needs a host compiler too
                raise
    if not cc:
        raise Missing("neither nvcc nor cc is installed")
    run(cc, "-O2", "-o", program, SOURCE, "-ldl", seconds=BUILD_SECONDS)
    return program


def send(job, line):
    """Sends the program a step, and returns its answer."""
    try:
        job.process.stdin.write(line + "\n")
        job.process.stdin.flush()
    except OSError as problem:
        raise CannotCheck(f"the program ended before {line}: {problem.strerror}") from problem
    answer = job.process.stdout.readline()
    if not answer:
        raise CannotCheck(f"the program ended in {line}")
    content = json.loads(answer)
    if "error" in content:
        raise CannotCheck(f"{line}: {content['error']}")
    return content["ok"]


def compare_ledger(where, job, probe):
    """Compares the ledger, which counts requested bytes exactly. A pool's used bytes are the driver's figure."""
    own, raw, pool = send(job, "stats"), one(probe, "raw"), one(probe, "cuda_pool")
    return [
        compare_bytes(where, "raw, by its own sums", [own["raw"]], [raw.get("allocated_bytes")], 0),
        counted(where, "raw allocations", own["raw_count"], raw.get("blocks")),
        compare_bytes(where, "pool, by its own sums", [own["pooled"]], [pool.get("allocated_bytes")], 0),
        judged(where, "pool reserves, MiB", f"{show(in_mib(own['pooled']))} or more", show(in_mib(pool.get("reserved_bytes"))),
               (pool.get("reserved_bytes") or 0) >= own["pooled"]),
    ]


def compare_used(where, job, probe):
    """Compares vramscope once, without a pool's cached and fragmented bytes, which are unknown before a flush."""
    return [row for row in compare_once(where, job, probe) if not row.what.startswith(("cached", "fragmented"))]


def check_flush(where, job, findings):
    where += ", flush"
    held, free = job.holding.bytes(), send(job, "stats")["free"]
    done = flush(job.bench.vramscope, job.pid, "--level", "urgent")
    held_after, free_after = job.holding.bytes(), send(job, "stats")["free"]
    drop, freed = None if None in (held, held_after) else held - held_after, done["freed_bytes"]
    findings.rows += [
        compare_bytes(where, "freed, by cuMemGetInfo", [free_after - free], [freed], EXACT),
        compare_bytes(where, "freed, by the driver", [drop], [freed], EXACT),
        judged(where, "freed, MiB", f"{show(in_mib(SPARE_BYTES // 2))} or more", show(in_mib(freed)), freed >= SPARE_BYTES // 2),
    ]
    findings.flushes.append({"where": where, "driver_freed_bytes": drop,
                             **{key: done[key] for key in ("before_bytes", "after_bytes", "freed_bytes", "ms", "notes")}})


def measure_hook(bench, program, findings):
    """Records the nanoseconds that allocating and freeing 2 MiB take, with and without the library."""
    times = {False: [], True: []}
    for _ in range(ROUNDS):
        for probed in times:
            with running(bench, program, probed=probed) as job:
                send(job, "begin")
                send(job, f"cost 2 {PAIRS}")
                times[probed] += send(job, f"cost {BATCHES} {PAIRS}")
    without, with_it = (round(statistics.median(times[probed]), 1) for probed in (False, True))
    findings.figures.update(pair_ns_without=without, pair_ns_with=with_it, pair_ns_added=round(with_it - without, 1),
                            pair_batches=len(times[True]))
    findings.rows += [
        noted("native", "cuMemAlloc and cuMemFree without the library, ns", show(without)),
        noted("native", "cuMemAlloc and cuMemFree with the library, ns", show(with_it), f"{show(round(with_it - without, 1))} more"),
    ]
