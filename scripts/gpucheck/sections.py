"""The sections about programs, and the time limit of each.

    the rest of the ten minutes ──→ section ──→ rows, figures, flushes, fixtures
"""

import time

from gpucheck import attaching, freeze, libraries, native, pytorch, training
from gpucheck.children import OutOfTime, time_limit
from gpucheck.driver import Driver
from gpucheck.figures import Row, noted
from gpucheck.job import Bench, Missing
from gpucheck.programs import CannotCheck

SECTIONS = {             # name → time limit in seconds, function
    "pytorch": (70, pytorch.check_native),
    "expandable": (50, pytorch.check_expandable),
    "async": (45, pytorch.check_async),
    "freeze": (40, freeze.check_freeze),
    "preloaded": (50, pytorch.check_preloaded),
    "training": (60, training.check_training),
    "graph": (45, training.check_graph),
    "attach": (75, attaching.check_attach),
    "cupy": (40, libraries.check_cupy),
    "jax": (50, libraries.check_jax),
    "native": (60, native.check_native),
}
LEAST_SECONDS = 5        # with less time left a section is skipped


class Findings:
    """The results of a section."""

    def __init__(self):
        self.rows, self.figures, self.flushes, self.fixtures = [], {}, [], {}


def check(vramscope, python, gpu, names, scratch, until):
    """Findings by section. All end before `until`, a time of the monotonic clock."""
    found = {}
    if not names:
        return found
    bench, problem = None, None
    try:
        bench = Bench(vramscope, python, gpu, Driver(gpu["uuid"]), scratch)
    except CannotCheck as refused:
        problem = refused
    for name in names:
        found[name] = findings = Findings()
        if bench is None:
            findings.rows.append(noted(name, "not made", "–", str(problem)))
            continue
        began = time.monotonic()
        check_one(bench, name, findings, until - began)
        findings.figures["seconds"] = round(time.monotonic() - began, 1)
    return found


def check_one(bench, name, findings, left):
    seconds, section = SECTIONS[name]
    if left < LEAST_SECONDS:
        findings.rows.append(noted(name, "not made", "–", "the ten minutes have passed"))
        return
    try:
        with time_limit(min(seconds, left)):
            section(bench, findings)
    except Missing as reason:
        findings.rows.append(noted(name, "not made", "–", str(reason)))
    except (CannotCheck, OutOfTime) as problem:
        findings.rows.append(Row(name, "can be checked", "True", str(problem), "", "differs"))
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, OSError) as problem:
        findings.rows.append(Row(name, "is understood", "True", f"{type(problem).__name__}: {problem}", "", "differs"))
