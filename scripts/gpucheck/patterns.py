"""Each pattern of `vramscope probe`: its own stats against the driver's figures.

    the pattern's stats, the driver's figure, the stats again   … five times a second
    stats ── vramscope once, nvidia-smi ── stats                once, at the end

The stats come over the probe's protocol. A pattern changes, so figures from elsewhere
must lie between the stats before and after them.
"""

import contextlib
import math
import time

from gpucheck.children import end, started
from gpucheck.driver import Holding
from gpucheck.figures import MIB, Row, compare_bytes, judged, noted, show, spread
from gpucheck.programs import once, query_processes
from gpucheck.protocol import Probe

ATTEMPTS = 3             # a figure differs if it differs in each of these attempts
SAMPLE_SECONDS = 0.2
FILL_SECONDS = 2.2       # until a pattern is full for the first time
LAST = 3                 # how many samples count as the end of a pattern
LATE_SECONDS = 4         # extra time for a slow machine
GROWTH_SECONDS = 8       # how much longer leak and staircase run than they are sampled
ORPHAN_SECONDS = 90      # after which a probe process ends by itself if we were killed
EXIT_SECONDS = 5         # until the driver must have freed an exited process's memory
OTHER_SLACK = 16 * MIB   # less than a pool's chunk, so that a missing chunk shows
SMI_SLACK = 2 * MIB      # nvidia-smi prints whole MiB


class Setting:
    """What a run of the closed loop shares."""

    def __init__(self, vramscope, uuid, driver, context, size, seconds):
        self.vramscope, self.uuid, self.driver, self.context = vramscope, uuid, driver, context
        self.size, self.seconds = size, seconds

    def command(self, pattern, length):
        return [self.vramscope, "probe", "--gpu", self.uuid, "--pattern", pattern,
                "--size", f"{self.size // MIB}MiB", "--for", f"{length}s"]


class Sample:
    """One reading of a pattern: its stats, the driver's figure, and other, which is the driver's figure less the
    reserved memory. other is None if the reserved memory changed around the reading, or if the driver's figure is unknown."""

    def __init__(self, at, before, held, after):
        self.at, self.stats, self.held = at, after, held
        still = held is not None and before.reserved == after.reserved
        self.other = held - after.reserved if still else None


class Running:
    """A probe process, its stats and the driver's figures."""

    def __init__(self, setting, process, holding, probe):
        self.setting, self.process, self.holding, self.probe = setting, process, holding, probe
        self.began = time.monotonic()
        self.samples = []

    def at(self):
        """Seconds since the start of this run."""
        return time.monotonic() - self.began

    def sample(self):
        before = self.probe.stats()
        held = self.holding.bytes()
        self.samples.append(Sample(round(self.at(), 3), before, held, self.probe.stats()))
        return self.samples[-1]

    def watch_for(self, sought, until, still=False):
        """Samples until sought(stats) holds, and with still until allocated does not change either. Returns the stats,
        or None at the time limit."""
        before = None
        while self.at() < until:
            stats = self.sample().stats
            if sought(stats) and (not still or before == stats.allocated):
                return stats
            before = stats.allocated
            time.sleep(SAMPLE_SECONDS / 4)
        return None

    def watch(self, until):
        """Samples until the given number of seconds after the start."""
        while True:
            sample = self.sample()
            if sample.at >= until:
                return sample
            time.sleep(min(SAMPLE_SECONDS, until - sample.at))


@contextlib.contextmanager
def running(setting, pattern, length):
    """A probe process with that pattern, which runs during the block."""
    holding = Holding(setting.driver, setting.context.whole_gpu)
    with started(*setting.command(pattern, length)) as process:
        holding.pid = process.pid
        with Probe(process.pid, setting.uuid) as probe:
            yield Running(setting, process, holding, probe)


def play(setting, pattern):
    """The rows and the samples of a pattern, from its start to its end."""
    where = f"pattern {pattern}"
    length = setting.seconds + (GROWTH_SECONDS if pattern in ("leak", "staircase") else ORPHAN_SECONDS)
    with running(setting, pattern, length) as run:
        run.watch(setting.seconds)
        rows = check_shape(where, pattern, run)
        rows += check_samples(where, run)
        rows += check_once(where, run)
        rows += check_end(where, run)
    return rows, run.samples


def check_samples(where, run):
    """Rows about what must hold for every sample."""
    context, reserved = run.setting.context, [sample.stats.reserved for sample in run.samples]
    others = [sample.other for sample in run.samples if sample.other is not None]
    size = run.setting.size
    return [
        judged(where, "reserved, MiB", f"at most {show(size / MIB)}", spread(reserved), max(reserved) <= size),
        compare_bytes(where, "other, by a context's cost", [context.bare, context.working], others, OTHER_SLACK)
        if others else noted(where, "other, MiB", "–", "the stats changed around every reading of the driver"),
    ]


def shape(pattern, run):
    """How a pattern must change, as in `vramscope probe --help`, and whether it has done so until now."""
    size, live = run.setting.size, [sample.stats.allocated for sample in run.samples]
    last = run.samples[-LAST:]
    least, most = (pick(sample.stats.allocated for sample in last) for pick in (min, max))
    rises = all(a <= b for a, b in zip(live, live[1:])) and live[-1] > live[0]
    fall = max(a - b for i, a in enumerate(live) for b in live[i:])
    return {
        "steady": ("stays over 85 % of the size", least >= 0.85 * size),
        "sawtooth": ("falls by 30 % of the size or more", fall >= 0.30 * size),
        "leak": ("never falls, grows", rises),
        "staircase": ("never falls, mostly constant", rises and mostly_constant(live)),
        "fragment": ("under 75 % of the size, of 85 % held",
                     most <= 0.75 * size and min(sample.stats.reserved for sample in last) >= 0.85 * size),
    }[pattern]


def check_shape(where, pattern, run):
    """A row about whether a pattern changes as it should. A busy machine gets extra time."""
    while not shape(pattern, run)[1] and run.at() < run.setting.seconds + LATE_SECONDS:
        run.watch(run.at() + SAMPLE_SECONDS)
    wanted, same = shape(pattern, run)
    shown = run.samples[-LAST:] if pattern in ("steady", "fragment") else run.samples
    return [judged(where, "allocated, MiB", wanted, spread([sample.stats.allocated for sample in shown]), same)]


def mostly_constant(values):
    """Whether more than half of the readings equal the previous one."""
    pairs = list(zip(values, values[1:]))
    return 2 * sum(a == b for a, b in pairs) > len(pairs)


def check_once(where, run):
    """Compares vramscope once and nvidia-smi with the stats, again if they differ: the pattern may have changed."""
    for _ in range(ATTEMPTS):
        rows = compare_once(where, run)
        if all(row.verdict != "differs" for row in rows):
            break
    return rows


def compare_once(where, run):
    setting, pid = run.setting, run.process.pid
    smi_before = used_by_smi(setting.uuid, pid)
    before, held_before = run.probe.stats(), run.holding.bytes()
    shown = row_of(once(setting.vramscope), setting.uuid, pid)
    after, held_after = run.probe.stats(), run.holding.bytes()
    smi_after = used_by_smi(setting.uuid, pid)
    if shown is None:
        return [Row(where, "is listed by once", "True", "False", "exact", "differs")]
    state = (shown["probe"] or {}).get("state")
    rows = [judged(where, "its probe, in once", "live", show(state), state == "live", "exact")]
    for part in ("allocated", "cached", "fragmented"):
        rows.append(compare_bytes(where, part, [getattr(before, part), getattr(after, part)], [shown[part + "_bytes"]], 0))
    if setting.context.whole_gpu:
        return rows + [noted(where, "used, MiB", show(shown["used_bytes"]), "the driver does not report this PID's memory")]
    rows.append(compare_bytes(where, "used", [held_before, held_after], [shown["used_bytes"]], 0))
    rows.append(compare_bytes(where, "used, by nvidia-smi", [smi_before, smi_after], [shown["used_bytes"]], SMI_SLACK))
    return rows


def used_by_smi(uuid, pid):
    """A process's bytes by nvidia-smi, or None if unknown."""
    used = query_processes().get((uuid, pid))
    return None if used is None else int(used * MIB)


def row_of(snapshot, uuid, pid):
    """A process's row in vramscope's snapshot."""
    rows = [p for gpu in snapshot["gpus"] if gpu["uuid"] == uuid for p in gpu["processes"] if p["pid"] == pid]
    return rows[0] if rows else None


def check_end(where, run):
    """Ends the probe process: it must exit with 0, and the driver must free its memory."""
    run.process.stdin.close()
    asked, code = time.monotonic(), end(run.process)
    rows = [judged(where, "exit code", "0", show(code), code == 0, "exact")]
    while time.monotonic() - asked < EXIT_SECONDS:
        held = run.holding.bytes()
        if held is None or (run.setting.context.whole_gpu and held <= OTHER_SLACK):
            taken = (time.monotonic() - asked) * 1000
            return rows + [judged(where, "memory freed after exit, ms", f"within {EXIT_SECONDS * 1000}", show(round(taken, 1)), True)]
        time.sleep(0.01)
    return rows + [judged(where, "memory freed after exit", "True", "False", False)]


def chunk_of(samples):
    """The greatest common divisor of the pools' reserved bytes: a pool's chunk, or a multiple of it."""
    sizes = {sample.stats.pools for sample in samples if sample.stats.pools}
    return math.gcd(*sizes) if len(sizes) > 1 else None
