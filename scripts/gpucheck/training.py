"""A flush during a training, and during the capture of a CUDA graph.

Step times before, during and after the flush are recorded but not judged. The verdicts are about
whether the training continues, and whether the captured graph gives the right results.
"""

import statistics
import time

from gpucheck.figures import in_mib, judged, noted, show
from gpucheck.job import Missing
from gpucheck.programs import CannotCheck, flush
from gpucheck.pytorch import torch_job

STEPS = 20               # before and after
STEP_SECONDS = 30        # limit for that many steps
VALUE = 3.0              # input of the graph, which computes 2x + 1


def check_training(bench, findings):
    where = "training"
    with torch_job(bench) as job:
        job.ask("context")
        job.ask("train")
        with job.probe() as probe:
            flushes = []

            def act():
                done = flush(bench.vramscope, job.pid, "--level", "urgent")
                flushes.append({"where": where, "driver_freed_bytes": None,
                                **{key: done[key] for key in ("before_bytes", "after_bytes", "freed_bytes", "ms", "notes")}})

            steps_around(where, job, findings, act)
            findings.flushes += flushes
            findings.rows.append(judged(where, "the probe answers meanwhile", "True", "True", bool(probe.stats().allocators)))


def steps_around(where, job, findings, act):
    """Calls act() during a training, and records the times of its steps."""
    wait_for_steps(job, 0)
    began = time.monotonic()
    act()
    ended = time.monotonic()
    done = len(job.ask("trained")["times"])
    wait_for_steps(job, done)
    progress = job.ask("rest")
    parts = {"before": [], "during": [], "after": []}
    for start, end in progress["times"]:
        parts["before" if end < began else "after" if start > ended else "during"].append((end - start) * 1000)
    for name, taken in parts.items():
        median = round(statistics.median(taken), 2) if taken else None
        longest = round(max(taken), 2) if taken else None
        findings.figures[f"steps_{name}"] = len(taken)
        findings.figures[f"steps_{name}_median_ms"], findings.figures[f"steps_{name}_longest_ms"] = median, longest
        findings.rows.append(noted(where, f"a step {name}, ms", f"{show(median)}, longest {show(longest)}", f"{len(taken)} steps"))
    findings.figures["action_ms"] = round((ended - began) * 1000, 1)
    findings.rows.append(judged(where, "continues", f"{STEPS} steps or more", show(len(parts["after"])), len(parts["after"]) >= STEPS - 1))


def wait_for_steps(job, seen):
    deadline = time.monotonic() + STEP_SECONDS
    while True:
        progress = job.ask("trained")
        if progress["failed"]:
            raise CannotCheck(f"the training failed: {progress['failed']}")
        if len(progress["times"]) >= seen + STEPS:
            return
        if time.monotonic() > deadline:
            raise CannotCheck(f"the training made {len(progress['times']) - seen} steps in {STEP_SECONDS} s")
        time.sleep(0.05)


def check_graph(bench, findings):
    """A flush during a graph capture may be refused, and must do no harm. (Beginning a capture empties PyTorch's cache.)"""
    where = "graph"
    with torch_job(bench) as job:
        if not job.ask("captures"):
            raise Missing("this PyTorch captures no graphs")
        job.ask("context")
        job.ask("take", name="spare", sizes=[64 << 20] * 2)
        job.ask("give", name="spare")
        with job.probe() as probe:
            job.ask("begin_capture")
            answer = probe.ask("flush", level="urgent")
            skipped = answer.get("skipped_reason")
            freed = sum(device["freed_bytes"] for device in answer["devices"])
            findings.figures.update(freed_bytes=freed, skipped_reason=skipped)
            findings.rows.append(noted(where, "a flush meanwhile freed, MiB", show(in_mib(freed)), skipped or "not skipped"))
            findings.rows.append(harm(where, job))
            after = probe.ask("flush", level="gradual")
            findings.rows.append(judged(where, "a flush afterwards", "is not skipped", show(after.get("skipped_reason")),
                                        after.get("skipped_reason") is None))
            low, high = job.ask("replay", value=VALUE)
            findings.rows.append(judged(where, "replayed after that", show(2 * VALUE + 1), show([low, high]),
                                        low == high == 2 * VALUE + 1, "exact"))


def harm(where, job):
    """A row about whether the graph that was being captured computes the right result."""
    try:
        job.ask("end_capture")
        low, high = job.ask("replay", value=VALUE)
    except CannotCheck as problem:
        return judged(where, "the graph is captured", "True", str(problem), False)
    return judged(where, "the captured graph makes", show(2 * VALUE + 1), show([low, high]), low == high == 2 * VALUE + 1, "exact")
