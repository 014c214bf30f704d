"""The compared figures, their tolerances, and the rows of the table."""

import re

MIB = 1 << 20


class Figure:
    """One figure: its names in nvidia-smi and vramscope, and its tolerance."""

    def __init__(self, query, path, kind="text", slack=0.0, relative=0.0, unit=""):
        self.query, self.path, self.kind = query, path, kind
        self.slack, self.relative, self.unit = slack, relative, unit

    def tolerance(self, value):
        return max(self.slack, self.relative * abs(value))


FIGURES = [
    Figure("uuid", "uuid"),
    Figure("name", "name"),
    Figure("pci.bus_id", "pci_bus_id"),
    Figure("mig.mode.current", "mig", "switch"),
    Figure("ecc.mode.current", "ecc.enabled", "switch"),
    # nvidia-smi prints whole MiB; the rounding depends on the release.
    Figure("memory.total", "memory.total_bytes", "bytes", slack=1, unit="MiB"),
    Figure("memory.reserved", "memory.reserved_bytes", "bytes", slack=1, unit="MiB"),
    Figure("memory.used", "memory.used_bytes", "bytes", slack=2, unit="MiB"),
    Figure("memory.free", "memory.free_bytes", "bytes", slack=2, unit="MiB"),
    Figure("enforced.power.limit", "power_limit_watts", "number", slack=0.01, unit="W"),
    Figure("power.draw", "power_watts", "number", slack=15, relative=0.10, unit="W"),
    Figure("temperature.gpu", "temperature_celsius", "number", slack=2, unit="C"),
    Figure("utilization.gpu", "utilization_percent", "number", slack=20, unit="%"),
    Figure("utilization.memory", "memory_utilization_percent", "number", slack=20, unit="%"),
    Figure("clocks.sm", "sm_clock_mhz", "number", slack=60, relative=0.10, unit="MHz"),
    Figure("clocks.mem", "memory_clock_mhz", "number", slack=60, relative=0.10, unit="MHz"),
    Figure("ecc.errors.corrected.volatile.total", "ecc.corrected", "number"),
    Figure("ecc.errors.uncorrected.volatile.total", "ecc.uncorrected", "number"),
]


def parse_smi(text, kind):
    """A value that nvidia-smi has printed; None for [N/A], [Not Supported] and the like."""
    text = text.strip()
    if text.strip("[]") in ("N/A", "Not Supported", "Not Available", "Unknown Error", "GPU is lost",
                            "Insufficient Permissions", "No Permission", ""):
        return None
    if kind == "switch":
        return {"Enabled": True, "Disabled": False}.get(text)
    if kind in ("number", "bytes"):
        return float(re.match(r"-?[0-9.]+", text).group())
    return text


def look_up(gpu, path, kind):
    """A figure from vramscope's JSON, bytes as MiB."""
    value = gpu
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    if value is not None and kind == "bytes":
        return value / MIB
    return value


class Row:
    """One line of the table."""

    def __init__(self, where, what, theirs, ours, tolerance, verdict):
        self.where, self.what, self.verdict = where, what, verdict
        self.theirs, self.ours, self.tolerance = theirs, ours, tolerance


def show(value):
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return str(value)


def in_mib(value):
    return None if value is None else value / MIB


def spread(values):
    """The lowest and highest of some readings in MiB, as text."""
    low, high = show(in_mib(min(values))), show(in_mib(max(values)))
    return low if low == high else f"{low} … {high}"


def compare_value(where, figure, before, after, ours):
    """A row from nvidia-smi's values before and after vramscope's, and vramscope's value."""
    theirs = show(before) if before == after else f"{show(before)} … {show(after)}"
    if figure.kind in ("text", "switch") or before is None or after is None or ours is None:
        same = ours in (before, after)
        return Row(where, figure.query, theirs, show(ours), "exact", "ok" if same else "differs")
    slack = figure.tolerance(after)
    same = min(before, after) - slack <= ours <= max(before, after) + slack
    tolerance = f"±{show(slack)} {figure.unit}".strip() if slack else "exact"
    return Row(where, figure.query, theirs, show(float(ours)), tolerance, "ok" if same else "differs")


def compare_bytes(where, what, theirs, ours, slack):
    """A row in MiB, ok if all our readings lie between the lowest and the highest of theirs."""
    what += ", MiB"
    tolerance = f"±{show(in_mib(slack))} MiB" if slack else "exact"
    if None in theirs or not theirs:
        unknown = None in ours or not ours
        return Row(where, what, "–", "–" if unknown else spread(ours), "", "–")
    if None in ours or not ours:
        return Row(where, what, spread(theirs), "–", tolerance, "differs")
    same = min(theirs) - slack <= min(ours) and max(ours) <= max(theirs) + slack
    return Row(where, what, spread(theirs), spread(ours), tolerance, "ok" if same else "differs")


def judged(where, what, wanted, seen, same, tolerance=""):
    """A row with a given verdict."""
    return Row(where, what, wanted, seen, tolerance, "ok" if same else "differs")


def noted(where, what, ours, why=""):
    """A row that compares nothing."""
    return Row(where, what, "–", ours, "", f"– {why}".strip())


def print_table(rows):
    cells = [("WHERE", "FIGURE", "NVIDIA", "VRAMSCOPE", "TOLERANCE", "")]
    cells += [(row.where, row.what, row.theirs, row.ours, row.tolerance, row.verdict) for row in rows]
    widths = [max(len(line[column]) for line in cells) for column in range(5)]
    for line in cells:
        print("  ".join([text.ljust(width) for text, width in zip(line, widths)] + [line[5]]).rstrip())
