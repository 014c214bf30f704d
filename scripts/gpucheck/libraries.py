"""CuPy and JAX under `vramscope run`: their pools' figures against the probe's."""

from gpucheck.figures import MIB, compare_bytes, in_mib, judged, noted, show
from gpucheck.job import python_job, running, settled_rows
from gpucheck.patterns import OTHER_SLACK
from gpucheck.programs import flush
from gpucheck.release import EXACT
from gpucheck.torchstats import counted, one

SIZES = [32 * MIB] * 4


def check_cupy(bench, findings):
    where = "cupy"
    with running(bench, *python_job(bench, "cupy_job.py")) as job:
        job.ask("context")
        bare = job.find_in_driver()
        findings.figures.update(version=job.version, context_bytes=bare)
        job.ask("take", name="live", sizes=SIZES)
        job.ask("take", name="spare", sizes=SIZES)
        job.ask("give", name="spare")
        with job.probe() as probe:
            findings.rows += settled_rows(lambda: compare_cupy(where, job, probe))
            findings.fixtures["cupy"] = {"stats": job.ask("stats"), "report": probe.ask("stats")}
            held, reserved = job.holding.bytes(), probe.stats().reserved
            outside = None if held is None else held - reserved
            findings.rows.append(compare_bytes(where, "other, by a context alone", [bare], [outside], OTHER_SLACK))
            before = job.ask("stats")["total"]
            done = flush(bench.vramscope, job.pid, "--level", "gradual")
            after, held_after = job.ask("stats")["total"], job.holding.bytes()
            drop = None if None in (held, held_after) else held - held_after
            findings.rows += [
                compare_bytes(where, "freed, by its pool", [before - after], [done["freed_bytes"]], 0),
                compare_bytes(where, "freed, by the driver", [drop], [done["freed_bytes"]], EXACT),
                judged(where, "freed, MiB", f"{show(in_mib(sum(SIZES)))} or more", show(in_mib(done["freed_bytes"])),
                       done["freed_bytes"] >= sum(SIZES)),
            ]
            findings.flushes.append({"where": where, "driver_freed_bytes": drop,
                                     **{key: done[key] for key in ("before_bytes", "after_bytes", "freed_bytes", "ms", "notes")}})
            findings.rows += settled_rows(lambda: compare_cupy(where + ", flushed", job, probe))


def compare_cupy(where, job, probe):
    stats, reported = job.ask("stats"), one(probe, "cupy")
    return [
        compare_bytes(where, "reserved, by total_bytes", [stats["total"]], [reported.get("reserved_bytes")], 0),
        compare_bytes(where, "allocated, by used_bytes", [stats["used"]], [reported.get("allocated_bytes")], 0),
        counted(where, "basis", "post_flush", reported.get("basis")),
    ]


def check_jax(bench, findings):
    """Compares JAX. It makes its context and its pool together, so the context cannot be measured by itself."""
    where = "jax"
    settings = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "3"}
    with running(bench, *python_job(bench, "jax_job.py"), settings=settings) as job:
        findings.figures["version"] = job.version
        job.find_in_driver()
        job.ask("take", name="live", sizes=SIZES)
        job.ask("take", name="spare", sizes=SIZES)
        job.ask("give", name="spare")
        with job.probe() as probe:
            findings.rows += settled_rows(lambda: compare_jax(where, job, probe))
            findings.fixtures["jax"] = {"stats": job.ask("stats"), "report": probe.ask("stats")}
            held, reserved = job.holding.bytes(), one(probe, "jax").get("reserved_bytes")
            other = None if None in (held, reserved) else held - reserved
            findings.figures.update(driver_bytes=held, reserved_bytes=reserved, other_bytes=other)
            findings.rows.append(noted(where, "other, MiB", show(in_mib(other))))
            if other is not None:
                findings.rows.append(judged(where, "other is", "0 or more", show(in_mib(other)), other >= 0))


def compare_jax(where, job, probe):
    """Compares JAX's own figures. A figure that this release lacks must be missing from the probe's report, too."""
    stats, reported = job.ask("stats"), one(probe, "jax")
    rows = []
    for what, key, ours in (("reserved, by pool_bytes", "pool_bytes", "reserved_bytes"),
                            ("allocated, by bytes_in_use", "bytes_in_use", "allocated_bytes"),
                            ("peak allocated", "peak_bytes_in_use", "peak_allocated_bytes"),
                            ("peak reserved", "peak_pool_bytes", "peak_reserved_bytes")):
        if stats.get(key) is None:
            rows.append(judged(where, what, "–", show(reported.get(ours)), reported.get(ours) is None, "exact"))
        else:
            rows.append(compare_bytes(where, what, [stats[key]], [reported.get(ours)], 0))
    rows.append(compare_bytes(where, "returnable", [0], [reported.get("returnable_bytes")], 0))
    return rows
