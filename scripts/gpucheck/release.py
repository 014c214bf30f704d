"""What a flush frees, and how soon the driver's figure shows it.

    level      the pattern steady, between two of its changes: the driver's figure must
               fall by exactly what vramscope flush reports
    soon       the pattern sawtooth, just after a fall, flushed over the protocol while
               the driver is read every millisecond
    fragment   memory that no flush frees: known after one flush, and left by the next
"""

import time

from gpucheck.driver import Watch
from gpucheck.figures import MIB, compare_bytes, in_mib, judged, noted, show
from gpucheck.patterns import ATTEMPTS, FILL_SECONDS, ORPHAN_SECONDS, row_of, running, used_by_smi
from gpucheck.programs import CannotCheck, flush, once

LEVELS = ("gradual", "selective", "urgent")
EXACT = 2 * MIB          # nvidia-smi's rounding, and small allocations of the driver
CHUNK = 64 * MIB         # what a sawtooth may have allocated since the flush: two of a pool's chunks, on an H200
SHOWN_SECONDS = 2.0      # within which the driver must follow
TOOTH_SECONDS = 15.0     # since the start of a sawtooth, which falls after 2 s and every 12 s
FULL_SECONDS = 5.0       # since the start, on a busy machine
STILL_SECONDS = 6.9      # since the start of a steady pattern, which then changes


class Release:
    """One flush, as it is recorded."""

    def __init__(self, how, level, pattern, before, after, freed, ms):
        self.how, self.level, self.pattern = how, level, pattern
        self.before_bytes, self.after_bytes, self.freed_bytes, self.ms = before, after, freed, ms
        self.driver_freed_bytes = self.driver_shows_ms = self.answered_ms = self.looked_every_ms = None
        self.fragmented_bytes = self.notes = None


def by_command(run, pattern, level):
    """Runs vramscope flush while the driver is read, and returns the Release."""
    with Watch(run.holding) as watch:
        before, asked = run.holding.bytes(), time.monotonic()
        done = flush(run.setting.vramscope, run.process.pid, "--level", level)
        answered = time.monotonic()
        release = Release("vramscope flush", level, pattern,
                          done["before_bytes"], done["after_bytes"], done["freed_bytes"], done["ms"])
        release.notes, release.outcome = done["notes"], done["outcome"]
        release.answered_ms = milliseconds(answered - asked)
        follow(release, run, watch, before, asked)
    return release, done


def by_protocol(run, pattern, level):
    """Sends a flush request while the driver is read, and returns the Release."""
    with Watch(run.holding) as watch:
        before = run.holding.bytes()
        answer, asked, answered = run.probe.flush(level)
        release = Release("protocol", level, pattern,
                          answer["before_bytes"], answer["after_bytes"], answer["freed_bytes"], answer["ms"])
        release.notes, release.answered_ms = answer["notes"], milliseconds(answered - asked)
        follow(release, run, watch, before, asked)
    return release


def follow(release, run, watch, before, asked):
    """Waits until the driver shows what was freed, and records the time since the request."""
    wanted = None if before is None else before - release.freed_bytes * 9 // 10
    deadline = time.monotonic() + SHOWN_SECONDS
    while wanted is not None and time.monotonic() < deadline and watch.first_at_most(wanted, asked) is None:
        time.sleep(0.005)
    if watch.failed:
        raise watch.failed
    lowest = min((held for moment, held in watch.changes if moment >= asked and held is not None), default=before)
    release.looked_every_ms = milliseconds(watch.interval())
    if before is None:
        return
    release.driver_freed_bytes = before - lowest
    if release.freed_bytes > 0:
        shown = watch.first_at_most(wanted, asked)
        release.driver_shows_ms = None if shown is None else milliseconds(shown - asked)


def milliseconds(seconds):
    return round(seconds * 1000, 2)


def check_level(setting, level, attempts=ATTEMPTS):
    """Rows about a flush at a level while nothing else changes. Repeats the flush if nvidia-smi took too long for that."""
    where = f"flush {level}"
    with running(setting, "steady", ORPHAN_SECONDS) as run:
        run.watch(FILL_SECONDS)
        full = run.watch_for(lambda stats: stats.reserved > stats.allocated, FULL_SECONDS, still=True)
        if full is None:
            return [judged(where, "something is idle", "True", "False", False)], None
        listed = used_by_smi(setting.uuid, run.process.pid)
        dry = flush(setting.vramscope, run.process.pid, "--level", level, "--dry-run")
        unchanged = run.probe.stats()
        release, done = by_command(run, "steady", level)
        stats, still = run.probe.stats(), run.at() < STILL_SECONDS
        later = used_by_smi(setting.uuid, run.process.pid)
    if not still and attempts > 1:
        return check_level(setting, level, attempts - 1)
    device, = done["devices"]
    rows = [
        compare_bytes(where, "a dry run leaves reserved", [full.reserved], [unchanged.reserved], 0),
        judged(where, "a dry run, freed, MiB", f"{show(in_mib(release.freed_bytes))} or more",
               show(in_mib(dry["freed_bytes"])), dry["freed_bytes"] >= release.freed_bytes),
        compare_bytes(where, "freed, by the driver", [release.driver_freed_bytes], [release.freed_bytes], EXACT),
        compare_bytes(where, "freed, by reserved", [full.reserved - stats.reserved], [release.freed_bytes], 0),
        compare_bytes(where, "freed, by the driver in flush", [release.driver_freed_bytes], [device["driver_freed_bytes"]], EXACT),
        judged(where, "freed, MiB", "more than 0", show(in_mib(release.freed_bytes)), release.freed_bytes > 0),
    ]
    drop = None if listed is None or later is None else listed - later
    rows.append(compare_bytes(where, "freed, by nvidia-smi", [drop], [release.freed_bytes], EXACT))
    return rows, release


def check_soon(setting):
    """Rows about how soon the driver shows a large flush."""
    where = "flush of a sawtooth"
    with running(setting, "sawtooth", ORPHAN_SECONDS) as run:
        if run.watch_for(lambda stats: stats.reserved - stats.allocated >= setting.size * 3 // 10, TOOTH_SECONDS) is None:
            return [judged(where, "falls", f"within {TOOTH_SECONDS:g} s", "never", False)], None
        release = by_protocol(run, "sawtooth", "urgent")
    shows = release.driver_shows_ms
    rows = [
        compare_bytes(where, "freed, by the driver", [release.driver_freed_bytes], [release.freed_bytes], CHUNK),
        judged(where, "freed, MiB", f"{show(in_mib(setting.size // 10))} or more", show(in_mib(release.freed_bytes)),
               release.freed_bytes >= setting.size // 10),
        judged(where, "the driver shows it, ms", f"within {SHOWN_SECONDS * 1000:.0f}", show(shows), shows is not None),
        noted(where, "answered after, ms", show(release.answered_ms)),
        noted(where, "the driver was read every, ms", show(release.looked_every_ms)),
    ]
    return rows, release


def check_fragment(setting):
    """Rows about what a flush cannot free."""
    where = "flush of fragment"
    with running(setting, "fragment", ORPHAN_SECONDS) as run:
        run.watch(FILL_SECONDS)
        half = run.watch_for(lambda stats: stats.allocated <= setting.size * 3 // 4, FULL_SECONDS, still=True)
        if half is None:
            return [judged(where, "every other block is freed", "True", "False", False)], None
        unknown = half.fragmented
        first, _ = by_command(run, "fragment", "urgent")
        stats = run.probe.stats()
        for _ in range(ATTEMPTS):
            shown = row_of(once(setting.vramscope), setting.uuid, run.process.pid)
            if shown is not None and shown["fragmented_bytes"] == stats.fragmented:
                break
        second, _ = by_command(run, "fragment", "urgent")
    if shown is None:
        raise CannotCheck("vramscope once does not list the process")
    first.fragmented_bytes, idle = stats.fragmented, stats.reserved - stats.allocated
    rows = [
        judged(where, "fragmented before, MiB", "–", show(in_mib(unknown)), unknown is None, "exact"),
        compare_bytes(where, "fragmented after", [idle], [stats.fragmented], 0),
        compare_bytes(where, "fragmented after, in once", [stats.fragmented], [shown["fragmented_bytes"]], 0),
        judged(where, "fragmented after, MiB", f"{show(in_mib(setting.size // 10))} or more",
               show(in_mib(stats.fragmented)), (stats.fragmented or 0) >= setting.size // 10),
        compare_bytes(where, "freed, by the driver", [first.driver_freed_bytes], [first.freed_bytes], EXACT),
        compare_bytes(where, "freed by a second flush", [0], [second.freed_bytes], 0),
    ]
    return rows, first
