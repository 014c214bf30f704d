"""Checks whether the probe's questions stop a program whose allocator waits for the driver.

    one thread frees and allocates while the GPU works: both calls wait in the driver
    another thread wakes every 5 ms: how late does it wake, without questions and with one a second?

PyTorch's memory_stats() waits for the allocator, and holds the GIL while it waits.
"""

import time

from gpucheck.figures import MIB, judged, noted, show
from gpucheck.pytorch import torch_job

SIZE = 1024 * MIB
EVERY_SECONDS = 1.0      # as vramscope asks
SLOW_SECONDS = 0.5       # a quicker call cannot show a standstill
FROZEN_MS = 250          # longer than a delay of a busy machine's scheduler, shorter than the call


def check_freeze(bench, findings):
    where = "freeze"
    with torch_job(bench) as job:
        job.ask("context")
        alone, _ = slowly(job, None)
        with job.probe("PyTorch") as probe:
            asked, answers = slowly(job, probe)
    findings.figures.update(alone_seconds=alone["seconds"], alone_longest_standstill_ms=alone["longest_ms"],
                            asked_seconds=asked["seconds"], asked_longest_standstill_ms=asked["longest_ms"],
                            longest_answer_ms=max(answers, default=None), questions=len(answers))
    findings.rows.append(noted(where, "a thread stands still, not asked, ms", show(alone["longest_ms"]),
                               f"during {show(alone['seconds'])} s"))
    if asked["seconds"] < SLOW_SECONDS:
        findings.rows.append(noted(where, "a thread stands still, asked, ms", show(asked["longest_ms"]),
                                   f"the driver took only {show(asked['seconds'])} s"))
        return
    most = alone["longest_ms"] + FROZEN_MS
    findings.rows.append(judged(where, "a thread stands still, asked, ms", f"{show(most)} or less", show(asked["longest_ms"]),
                                asked["longest_ms"] <= most))


def slowly(job, probe):
    """Returns what the job measured, and how long each answer of the probe took, in ms."""
    answers, due = [], 0.0
    if probe is not None:
        probe.ask("stats")  # gives the probe figures to answer with while the allocator waits
    job.ask("begin_slowly", size=SIZE)
    while job.ask("is_slow"):
        if probe is not None and time.monotonic() >= due:
            began = time.monotonic()
            probe.ask("stats")
            answers.append(round((time.monotonic() - began) * 1000, 1))
            due = began + EVERY_SECONDS
        time.sleep(0.02)
    return job.ask("end_slowly"), answers
