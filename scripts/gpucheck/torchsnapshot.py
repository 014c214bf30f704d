"""`vramscope snapshot`: the pickle and the map against the program's own snapshot."""

import json
import os
import pickle

from gpucheck.blocks import Blocks
from gpucheck.figures import compare_bytes, judged, show
from gpucheck.programs import CannotCheck, run
from gpucheck.torchstats import counted, native

STATES = {"live": ("live", "pending"), "cached": ("cached",), "stuck": ("stuck",)}


def check_snapshot(where, job, probe, findings):
    seen = findings.fixtures[where + "-map"] = mapped(job)
    where += ", snapshot"
    blocks, reported = Blocks(job.ask("segments")), native(probe)
    whole = pickled(job)
    segments = [segment for segment in whole["segments"] if segment["device"] == 0]
    own = Blocks(segments)
    findings.rows += [
        counted(where, "segments in the pickle", blocks.segments, own.segments),
        compare_bytes(where, "their sum", [blocks.reserved], [own.reserved], 0),
        compare_bytes(where, "their live blocks", [blocks.live], [own.live], 0),
    ]
    sums = {name: sum(size for segment in seen["segments"] for size, state in segment["blocks"] if state in states)
            for name, states in STATES.items()}
    findings.rows += [
        counted(where, "segments in the map", blocks.segments, len(seen["segments"]) + seen.get("left", 0)),
        compare_bytes(where, "their sum in the map", [blocks.reserved], [sum(s["size"] for s in seen["segments"])], 0),
        compare_bytes(where, "live in the map", [blocks.live], [sums["live"]], 0),
        compare_bytes(where, "cached in the map, by returnable", [reported.get("returnable_bytes")], [sums["cached"]], 0),
        compare_bytes(where, "fragmented in the map", [blocks.fragmented], [sums["stuck"]], 0),
    ]


def pickled(job):
    """The snapshot that vramscope snapshot writes of our own program, read from its pickle."""
    path = os.path.join(job.bench.scratch, f"{job.pid}.pickle")
    run(job.bench.vramscope, "snapshot", str(job.pid), "-o", path)
    with open(path, "rb") as file:
        return pickle.load(file)


def mapped(job):
    path = os.path.join(job.bench.scratch, f"{job.pid}.map")
    run(job.bench.vramscope, "snapshot", str(job.pid), "--format", "segments", "-o", path)
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    found = [device for device in content["devices"] if device["uuid"] == job.bench.uuid]
    if content["schema"] != "vramscope/segments/1" or len(found) != 1:
        raise CannotCheck(f"a map of {content['schema']} with {len(found)} devices of that UUID")
    return found[0]


def refuses_snapshot(where, job):
    """A row: a snapshot of an allocator without block information must be refused, and leave no file."""
    path = os.path.join(job.bench.scratch, f"{job.pid}.pickle")
    try:
        run(job.bench.vramscope, "snapshot", str(job.pid), "-o", path)
        answer = "it made one"
    except CannotCheck as problem:
        answer = str(problem)
    refused = "does not report its blocks" in answer and not os.path.exists(path)
    return judged(where, "a snapshot", "is refused, with the reason", show(answer.rsplit(": ", 1)[-1]), refused)
