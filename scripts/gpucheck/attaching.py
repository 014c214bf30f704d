"""vramscope attach to a PyTorch program that trains: the step times, how long the program was paused, and its stats.

If attaching is impossible (no gdb, tracing restricted), the section reports the dry run's reasons.
"""

import json
import os
import subprocess

from gpucheck.figures import judged, noted, show
from gpucheck.job import Missing
from gpucheck.programs import CALL_SECONDS, CannotCheck, run
from gpucheck.pytorch import SPARE, check_stats, fill, torch_job
from gpucheck.torchstats import figure
from gpucheck.training import steps_around


def check_attach(bench, findings):
    where = "attach"
    with torch_job(bench, probed=False) as job:
        fill(job, findings, where)
        job.ask("train")
        refused = refusal(bench.vramscope, job.pid)
        if refused:
            raise Missing(refused)
        steps_around(where, job, findings, lambda: run(bench.vramscope, "attach", str(job.pid), "--yes"))
        logged = log_of(job.pid)
        findings.figures.update(method=logged.get("method"), standstill_ms=logged.get("standstill_ms"))
        findings.rows += [
            judged(where, "in the log", "attached", show(logged.get("outcome")), logged.get("outcome") == "attached", "exact"),
            noted(where, "paused, ms", show(logged.get("standstill_ms")), logged.get("method") or ""),
        ]
        with job.probe() as probe:
            started_by = probe.hello.get("started_by")
        findings.rows.append(judged(where, "started by", "attach", show(started_by), started_by == "attach", "exact"))
        job.ask("take", name="spare", sizes=SPARE)  # the training used the memory that fill_up had freed
        job.ask("give", name="spare")
        check_stats(job, findings, where, outside(job))


def outside(job):
    """The bytes of the process outside of PyTorch's allocator, which include the training's kernels and libraries."""
    held, reserved = job.holding.bytes(), figure(job.ask("stats"), "reserved_bytes")
    return None if held is None else held - reserved


def refusal(vramscope, pid):
    """Why a dry run refuses to attach to a process, or None."""
    try:
        done = subprocess.run((vramscope, "attach", str(pid), "--dry-run"), capture_output=True, text=True,
                              timeout=CALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as problem:
        raise CannotCheck(f"vramscope attach --dry-run: no answer in {CALL_SECONDS} s") from problem
    if done.returncode == 0:
        return None
    return " · ".join(line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()) or "no reason was reported"


def log_of(pid):
    """The last line about attaching to a process in vramscope's audit log."""
    try:
        with open(os.path.join(os.environ["XDG_STATE_HOME"], "vramscope", "audit.log"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    except OSError as problem:
        raise CannotCheck(f"audit.log: {problem.strerror}") from problem
    return next((line for line in reversed(lines) if line["pid"] == pid and line["action"] == "attach"), {})
