"""Compares vramscope once with nvidia-smi: every GPU, every process, the log."""

import time
from xml.etree import ElementTree

from gpucheck.figures import FIGURES, MIB, Figure, Row, compare_value, look_up, parse_smi, show
from gpucheck.programs import once, query_gpus, query_processes, run

ATTEMPTS = 3             # a figure differs if it differs in each of these attempts


def compare_gpus(queries, before, snapshot, after):
    rows = []
    ours = {gpu["uuid"]: gpu for gpu in snapshot["gpus"]}
    for uuid in list(before) + [uuid for uuid in ours if uuid not in before]:
        if uuid not in after or uuid not in before or uuid not in ours:
            rows.append(Row(uuid, "is listed", str(uuid in before), str(uuid in ours), "exact", "differs"))
            continue
        gpu, where = ours[uuid], f"GPU {ours[uuid]['index']}"
        for figure in FIGURES:
            if figure.query not in queries:
                continue
            first, last = (parse_smi(side[uuid][figure.query], figure.kind) for side in (before, after))
            value = look_up(gpu, figure.path, figure.kind)
            if figure.path == "mig":
                first, last = first or False, last or False  # a GPU without MIG counts as off
            if figure.query == "memory.used" and "memory.reserved" not in queries and value is not None:
                # This old nvidia-smi counts the driver's reserved memory as used.
                value += look_up(gpu, "memory.reserved_bytes", "bytes") or 0
            rows.append(compare_value(where, figure, first, last, value))
    return rows


def compare_processes(before, snapshot, after):
    figure, rows, ours = Figure("used memory", "", "bytes", slack=2, unit="MiB"), [], {}
    index = {gpu["uuid"]: gpu["index"] for gpu in snapshot["gpus"]}
    sharded = {gpu["uuid"] for gpu in snapshot["gpus"] if gpu.get("mig")}
    for gpu in snapshot["gpus"]:
        for process in gpu["processes"]:
            if "C" in (process["type"] or ""):
                ours[gpu["uuid"], process["pid"]] = process["used_bytes"]
    for key in sorted(set(before) & set(after) | set(ours), key=str):
        if key[0] in sharded or key[0] not in index:
            continue  # with MIG nvidia-smi lists processes by instance
        where = f"GPU {index[key[0]]}, pid {key[1]}"
        if (key in before) != (key in after):
            rows.append(Row(where, "is listed", "started or ended", str(key in ours), "", "–"))
        elif key not in ours or key not in before:
            rows.append(Row(where, "is listed", str(key in before), str(key in ours), "exact", "differs"))
        else:
            used = None if ours[key] is None else ours[key] / MIB
            rows.append(compare_value(where, figure, before[key], after[key], used))
    return rows


def compare_log(log, snapshot):
    """Figures that only nvidia-smi -q prints: versions, slow-down temperature, MIG devices."""
    rows = []
    for what, ours in (("driver_version", snapshot["driver"]["version"]), ("cuda_version", snapshot["driver"]["cuda_version"])):
        theirs = (log.findtext(what) or "").strip() or None
        rows.append(Row("driver", what, show(theirs), show(ours), "exact", "ok" if ours == theirs else "differs"))
    ours = {gpu["uuid"]: gpu for gpu in snapshot["gpus"]}
    for element in log.iter("gpu"):
        gpu = ours.get((element.findtext("uuid") or "").strip())
        if gpu is None:
            continue
        where = f"GPU {gpu['index']}"
        limit = element.findtext("temperature/gpu_temp_slow_threshold")
        if limit is not None:
            theirs = parse_smi(limit, "number")
            figure = Figure("slow-down temperature", "", "number", unit="C")
            if theirs is not None:  # newer drivers report a margin instead of a threshold
                rows.append(compare_value(where, figure, theirs, theirs, gpu["temperature_slowdown_celsius"]))
        instances = {(i["gpu_instance"], i["compute_instance"]): i for i in gpu.get("instances") or []}
        for device in element.iter("mig_device"):
            key = (int(device.findtext("gpu_instance_id")), int(device.findtext("compute_instance_id")))
            instance = instances.get(key, {})
            for what in ("total", "used"):
                figure = Figure(f"MIG {key[0]}/{key[1]} memory {what}", "", "bytes", slack=2, unit="MiB")
                theirs = parse_smi(device.findtext(f"fb_memory_usage/{what}") or "N/A", "bytes")
                rows.append(compare_value(where, figure, theirs, theirs, look_up(instance, f"memory.{what}_bytes", "bytes")))
    return rows


def compare(vramscope, queries):
    """All rows, and the last snapshot and log. Figures that differ are compared again, because they may have changed between
    the readings."""
    differing, rows = None, []
    for _ in range(ATTEMPTS):
        before, processes_before = query_gpus(queries), query_processes()
        snapshot = once(vramscope)
        after, processes_after = query_gpus(queries), query_processes()
        log = run("nvidia-smi", "-q", "-x")
        rows = compare_gpus(queries, before, snapshot, after)
        rows += compare_processes(processes_before, snapshot, processes_after)
        rows += compare_log(ElementTree.fromstring(log), snapshot)
        now = {(row.where, row.what) for row in rows if row.verdict == "differs"}
        differing = now if differing is None else differing & now
        if not differing:
            break
        time.sleep(0.7)
    for row in rows:
        if row.verdict == "differs" and (row.where, row.what) not in differing:
            row.verdict = "ok"  # agreed in another attempt
    return rows, snapshot, log
