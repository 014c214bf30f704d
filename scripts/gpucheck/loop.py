"""The closed loop on one GPU: the cost of a context, every pattern, every flush."""

from gpucheck import allocation, patterns, release
from gpucheck.driver import Driver, Holding
from gpucheck.figures import MIB, Row, noted, show
from gpucheck.programs import CannotCheck

PATTERNS = ("steady", "sawtooth", "leak", "staircase", "fragment")
SPARE = 1 << 30          # bytes that stay free: a context, and the 512 MiB that vramscope probe leaves
SMALLEST = 128 * MIB     # of a pattern


class Loop:
    """The rows of the closed loop, and their figures."""

    def __init__(self):
        self.rows, self.samples, self.releases = [], {}, []
        self.gpu = self.size = self.seconds = self.context = self.chunk = None

    def check(self, vramscope, gpu, size, seconds):
        """Runs everything. If something cannot be compared, a row says why."""
        self.gpu, self.seconds = gpu, seconds
        try:
            driver = Driver(gpu["uuid"])
            rows, self.context = allocation.check_allocation(vramscope, gpu, Holding(driver, False))
        except CannotCheck as problem:
            rows = [Row("closed loop", "not made", "–", "–", "", f"– {problem}")]
        self.rows += rows
        if self.context is None or seconds <= 0:
            return
        self.size = min(size, (gpu["memory"]["free_bytes"] - SPARE) // MIB * MIB)
        if self.size < SMALLEST:
            self.rows.append(Row("closed loop", "not made", "–", "–", "", "– too little GPU memory is free"))
            return
        setting = patterns.Setting(vramscope, gpu["uuid"], driver, self.context, self.size, seconds)
        for pattern in PATTERNS:
            self.step(f"pattern {pattern}", lambda: self.keep_samples(pattern, patterns.play(setting, pattern)))
        self.chunk = patterns.chunk_of([sample for samples in self.samples.values() for sample in samples])
        self.rows.append(noted("every pattern", "pools reserve multiples of, MiB",
                               show(None if self.chunk is None else self.chunk / MIB)))
        for level in release.LEVELS:
            self.step(f"flush {level}", lambda: self.keep_release(release.check_level(setting, level)))
        self.step("flush of a sawtooth", lambda: self.keep_release(release.check_soon(setting)))
        self.step("flush of fragment", lambda: self.keep_release(release.check_fragment(setting)))

    def step(self, where, check):
        """Adds a check's rows. A failure counts as a difference, because a CUDA program has just succeeded."""
        try:
            self.rows += check()
        except CannotCheck as problem:
            self.rows.append(Row(where, "can be checked", "True", str(problem), "", "differs"))
        except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
            # An answer that does not match its documentation.
            self.rows.append(Row(where, "is understood", "True", f"{type(problem).__name__}: {problem}", "", "differs"))

    def keep_samples(self, pattern, played):
        rows, self.samples[pattern] = played
        return rows

    def keep_release(self, checked):
        rows, done = checked
        self.releases += [done] if done else []
        return rows


def roomiest(snapshot):
    """The usable GPU without MIG that has the most free memory, or None."""
    usable = [gpu for gpu in snapshot["gpus"]
              if gpu["state"] == "ok" and not gpu.get("mig") and gpu["memory"]["free_bytes"] is not None]
    return max(usable, key=lambda gpu: gpu["memory"]["free_bytes"], default=None)
