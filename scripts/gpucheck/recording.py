"""The recorded files of a check, without personal data."""

import csv
import ctypes
import datetime
import json
import os
import platform
import re
import statistics
import struct
import time

from gpucheck.programs import run
from gpucheck.report import report


def nvml_symbols():
    """The path of the driver's library, and the names that it exports (ELF, 64 bits, little-endian)."""
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
        with open("/proc/self/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if "libnvidia-ml" in line)
        with open(path, "rb") as library:
            data = library.read()
    except (OSError, StopIteration):
        return None, []
    if data[:6] != b"\x7fELF\x02\x01":
        return path, []
    table, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + i * size) for i in range(count)]
    names = set()
    for section in sections:
        if section[1] != 11:  # SHT_DYNSYM
            continue
        strings = sections[section[6]][4]
        for offset in range(section[4], section[4] + section[5], 24):
            name, _, _, defined = struct.unpack_from("<IBBH", data, offset)
            if defined:
                start = strings + name
                names.add(data[start:data.index(b"\0", start)].decode("ascii", "replace"))
    return path, sorted(name for name in names if name.startswith("nvml"))


def without_people(snapshot, log):
    """The recordings without host, user and program names, commands and serial numbers."""
    snapshot = json.loads(json.dumps(snapshot))
    snapshot["host"] = "gpu-box"
    for gpu in snapshot["gpus"]:
        for process in gpu["processes"]:
            process.update(user=None, command=None, name=None, job=None)
    for tag in ("serial", "board_part_number", "process_name", "gpu_part_number"):
        log = re.sub(rf"<{tag}>[^<]*</{tag}>", f"<{tag}>-</{tag}>", log)
    return snapshot, log


def median_ms(times, *command):
    taken = []
    for _ in range(times):
        start = time.monotonic()
        run(*command)
        taken.append((time.monotonic() - start) * 1000)
    return round(statistics.median(taken), 1)


def keep(directory, vramscope, rows, loop, found, snapshot, log, command):
    """Writes the files, and returns the content of result.json."""
    os.makedirs(directory, exist_ok=True)
    library, symbols = nvml_symbols()
    snapshot, log = without_people(snapshot, log)
    result = {
        "date": datetime.date.today().isoformat(),
        "command": command,
        "gpus": [gpu["name"] for gpu in snapshot["gpus"]],
        "driver": snapshot["driver"]["version"],
        "cuda": snapshot["driver"]["cuda_version"],
        "vramscope": run(vramscope, "--version").strip(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "milliseconds": {
            "vramscope once --format json": median_ms(10, vramscope, "once", "--format", "json"),
            "nvidia-smi": median_ms(5, "nvidia-smi"),
        },
        "closed_loop": closed_loop(loop),
        "sections": {name: {**findings.figures, "flushes": findings.flushes} for name, findings in found.items()},
        "rows": [vars(row) for row in rows],
    }
    for name, content in (("result.json", result), ("once.json", snapshot),
                          ("symbols.json", {"library": library, "symbols": symbols})):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1, ensure_ascii=False)
            file.write("\n")
    with open(os.path.join(directory, "nvidia-smi.xml"), "w", encoding="utf-8") as file:
        file.write(log)
    keep_fixtures(directory, found)
    if loop.samples:
        keep_samples(os.path.join(directory, "samples.csv"), loop)
    with open(os.path.join(directory, f"{result['date']}-{slug(result['gpus'])}.md"), "w", encoding="utf-8") as file:
        file.write(report(result))
    return result


def keep_fixtures(directory, found):
    """Writes the libraries' own statistics as fixtures for tests. They are of our own programs only."""
    for findings in found.values():
        for name, content in findings.fixtures.items():
            os.makedirs(os.path.join(directory, "fixtures"), exist_ok=True)
            with open(os.path.join(directory, "fixtures", name + ".json"), "w", encoding="utf-8") as file:
                json.dump(content, file, ensure_ascii=False)
                file.write("\n")


def slug(names):
    """A GPU's name as a part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", (names[0] or "gpu").lower()).strip("-")


def closed_loop(loop):
    """The figures of the closed loop in bytes, or None if it was not made."""
    if loop.context is None:
        return None
    return {
        "gpu": loop.gpu["uuid"],
        "size_bytes": loop.size,
        "seconds": loop.seconds,
        "driver_figures": "the whole GPU's, less what was used before" if loop.context.whole_gpu else "the process's",
        "context_bytes": loop.context.bare,
        "context_after_work_bytes": loop.context.working,
        "pool_chunk_bytes": loop.chunk,
        "patterns": {pattern: extremes(samples) for pattern, samples in loop.samples.items()},
        "flushes": [vars(release) for release in loop.releases],
    }


def extremes(samples):
    """The lowest and the highest of each figure of a pattern."""
    figures = {
        "reserved_bytes": [sample.stats.reserved for sample in samples],
        "allocated_bytes": [sample.stats.allocated for sample in samples],
        "idle_bytes": [sample.stats.reserved - sample.stats.allocated for sample in samples],
        "driver_bytes": [sample.held for sample in samples if sample.held is not None],
        "other_bytes": [sample.other for sample in samples if sample.other is not None],
    }
    return {"samples": len(samples),
            **{name: [min(values), max(values)] if values else None for name, values in figures.items()}}


def keep_samples(path, loop):
    """Writes every sample of every pattern as CSV. Unknown values are empty."""
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("pattern", "seconds", "reserved_bytes", "allocated_bytes", "cached_bytes", "fragmented_bytes",
                         "pool_reserved_bytes", "driver_bytes", "other_bytes"))
        for pattern, samples in loop.samples.items():
            for sample in samples:
                stats = sample.stats
                writer.writerow((pattern, sample.at, stats.reserved, stats.allocated, stats.cached, stats.fragmented,
                                 stats.pools, sample.held, sample.other))
