"""Starts a program of the directory jobs, with or without a probe, and sends it steps."""

import contextlib
import json
import os
import time

from gpucheck.children import started
from gpucheck.driver import Holding
from gpucheck.programs import CannotCheck
from gpucheck.protocol import Probe

JOBS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "jobs")
PROBE_SECONDS = 40       # how long to wait for a program's probe; imports are slow


class Missing(Exception):
    """Something that a section needs is missing; the text says what."""


class Bench:
    """What the sections share."""

    def __init__(self, vramscope, python, gpu, driver, scratch):
        self.vramscope, self.python, self.driver, self.scratch = vramscope, python, driver, scratch
        self.uuid = gpu["uuid"]


class Job:
    """A running program, and its memory by the driver."""

    def __init__(self, bench, process, holding, version):
        self.bench, self.process, self.holding, self.version = bench, process, holding, version
        self.pid = process.pid

    def ask(self, step, **arguments):
        try:
            self.process.stdin.write(json.dumps({"step": step, **arguments}) + "\n")
            self.process.stdin.flush()
        except OSError as problem:
            raise CannotCheck(f"the program ended before {step}: {problem.strerror}") from problem
        line = self.process.stdout.readline()
        if not line:
            raise CannotCheck(f"the program ended in {step}")
        answer = json.loads(line)
        if "error" in answer:
            raise CannotCheck(f"{step}: {answer['error']}")
        return answer["ok"]

    def find_in_driver(self):
        """Finds out whether the driver lists this process. If not, the figures are the whole GPU's. Returns the bytes."""
        self.holding.pid = self.pid
        self.holding.whole_gpu = self.holding.driver.used_by(self.pid) is None
        return self.holding.bytes()

    def probe(self, runtime=None):
        """A connection to the probe. With runtime, waits for a probe with that runtime, which may take over from another."""
        deadline = time.monotonic() + PROBE_SECONDS
        while True:
            try:
                probe = Probe(self.pid, self.bench.uuid, PROBE_SECONDS)
                if runtime is None or runtime in [runtime["name"] for runtime in probe.hello["runtimes"]]:
                    return probe
                probe.connection.close()
            except CannotCheck:
                if runtime is None or time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise CannotCheck(f"no probe of {self.pid} reports {runtime} after {PROBE_SECONDS} s")
            time.sleep(0.1)


@contextlib.contextmanager
def running(bench, *command, probed=True, flags=(), settings=None):
    """A program that runs during the block, with one visible GPU."""
    variables = {"CUDA_VISIBLE_DEVICES": bench.uuid, "PYTHONDONTWRITEBYTECODE": "1", **(settings or {})}
    around = ["env", *(f"{name}={value}" for name, value in variables.items())]
    around += [bench.vramscope, "run", *flags, "--"] if probed else []
    holding = Holding(bench.driver, False)
    with started(*around, *command) as process:
        first = json.loads(process.first_line)
        if "missing" in first:
            raise Missing(first["missing"])
        yield Job(bench, process, holding, first["version"])


def python_job(bench, script):
    return bench.python, os.path.join(JOBS, script)


def settled_rows(compare, seconds=6.0, least=4):
    """The rows of compare(), which is repeated while a row differs.

    The program is idle, but stats may be a second old and snapshots two seconds, and
    both older on a busy machine.
    """
    until, attempts = time.monotonic() + seconds, 0
    while True:
        attempts += 1
        rows = compare()
        if all(row.verdict != "differs" for row in rows) or (attempts >= least and time.monotonic() > until):
            return rows
        time.sleep(0.4)
