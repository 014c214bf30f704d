"""The report of a check, a page for docs/measured."""

from gpucheck.figures import MIB, show


def report(result):
    """The page, from the content of result.json."""
    lines = [f"# {result['gpus'][0]}, driver {result['driver']}", ""]
    lines += table(("", ""), [
        ("date", result["date"]),
        ("GPUs", f"{len(result['gpus'])}: {', '.join(sorted(set(result['gpus'])))}"),
        ("driver", f"{result['driver']}, CUDA {result['cuda']}"),
        ("vramscope", result["vramscope"]),
        ("kernel", result["kernel"]),
        ("command", f"`{result['command']}`"),
        *((f"`{program}`", f"{taken} ms, median") for program, taken in result["milliseconds"].items()),
    ])
    lines += closed_loop(result["closed_loop"])
    lines += programs(result["sections"])
    verdicts = [row["verdict"] for row in result["rows"]]
    lines += ["## Every comparison", "",
              f"{verdicts.count('ok')} agree, {verdicts.count('differs')} differ. "
              "Two values are the least and the most of several readings. `–` compares nothing.", ""]
    lines += table(("where", "figure", "NVIDIA", "vramscope", "tolerance", ""),
                   [(row["where"], row["what"], row["theirs"], row["ours"], row["tolerance"], row["verdict"])
                    for row in result["rows"]])
    return "\n".join(lines)


def closed_loop(loop):
    if loop is None:
        return ["The closed loop was not made: the comparisons or the command say why.", ""]
    lines = ["## What a context costs", "",
             f"{mib(loop['context_bytes'])} MiB bare, {mib(loop['context_after_work_bytes'])} MiB after its first stream "
             f"and fill. The driver's figures on this page are {loop['driver_figures']}.", ""]
    if not loop["patterns"]:
        return lines
    lines += ["## The patterns", "",
              f"`vramscope probe --size {loop['size_bytes'] // MIB}MiB`, sampled for {loop['seconds']:g} s each. Least … most, "
              f"in MiB; `other` is the driver's figure less reserved. Pools reserved multiples of {mib(loop['pool_chunk_bytes'])} MiB.", ""]
    names = ("reserved", "allocated", "idle", "driver", "other")
    lines += table(("pattern", "samples", *names), [
        (pattern, seen["samples"], *(between(seen[name + "_bytes"]) for name in names))
        for pattern, seen in loop["patterns"].items()])
    lines += ["## The flushes", "",
              "In MiB. *Shown* is when the driver's figure had fallen by nine tenths of what was freed, *answered* when the answer "
              "came, both counted from the request (with `vramscope flush`: from its start), in ms. *Every* is how often the driver was read.", ""]
    lines += table(("by", "level", "pattern", "before", "after", "freed", "driver's drop", "fragmented", "took", "shown", "answered", "every"), [
        (done["how"], done["level"], done["pattern"],
         *(mib(done[name + "_bytes"]) for name in ("before", "after", "freed", "driver_freed", "fragmented")),
         show(round(done["ms"], 2)), show(done["driver_shows_ms"]), show(done["answered_ms"]),
         show(done["looked_every_ms"]))
        for done in loop["flushes"]])
    return lines


def programs(sections):
    """The figures of PyTorch, CuPy, JAX and native programs."""
    if not sections:
        return []
    lines = ["## Programs", ""]
    lines += table(("section", "figure", "value"), [
        (section, name.removesuffix("_bytes") + ", MiB" * name.endswith("_bytes"),
         mib(value) if name.endswith("_bytes") else show(value))
        for section, seen in sections.items() for name, value in seen.items() if name != "flushes"])
    flushes = [done for seen in sections.values() for done in seen["flushes"]]
    if flushes:
        lines += ["Their flushes, in MiB and ms:", ""]
        lines += table(("flush", "before", "after", "freed", "driver's drop", "took", "notes"), [
            (done["where"], *(mib(done[name + "_bytes"]) for name in ("before", "after", "freed", "driver_freed")),
             show(done["ms"]), "; ".join(done["notes"] or ()))
            for done in flushes])
    return lines


def between(pair):
    if pair is None:
        return "–"
    low, high = mib(pair[0]), mib(pair[1])
    return low if low == high else f"{low} … {high}"


def mib(value):
    return show(None if value is None else value / MIB)


def table(head, rows):
    lines = [line(head), line("---" for _ in head)] + [line(row) for row in rows]
    return lines + [""]


def line(cells):
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
