"""The compared programs: nvidia-smi and vramscope."""

import json
import subprocess
import time

from gpucheck.figures import FIGURES, parse_smi

CALL_SECONDS = 30        # limit for any program
SETTLE_SECONDS = 0.5     # after which the driver's figures show an allocation


class CannotCheck(Exception):
    """Nothing can be compared; the text says why."""


def run(*command, seconds=CALL_SECONDS):
    """The standard output of a program, which must succeed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except OSError as problem:
        raise CannotCheck(f"{command[0]}: {problem.strerror}") from problem
    except subprocess.TimeoutExpired as problem:
        raise CannotCheck(f"{' '.join(command)}: no answer in {seconds} s") from problem
    if done.returncode != 0:
        errors = (done.stderr or done.stdout).strip().splitlines()
        raise CannotCheck(f"{' '.join(command)}: exit code {done.returncode}: {errors[0] if errors else 'no message'}")
    return done.stdout


def supported_queries():
    """The figures that this release of nvidia-smi supports."""
    names = [figure.query for figure in FIGURES]
    try:
        query_gpus(names)
        return names
    except CannotCheck:
        pass
    known = []
    for name in names:
        try:
            query_gpus([name])
            known.append(name)
        except CannotCheck:
            continue
    if "uuid" not in known:
        raise CannotCheck("nvidia-smi does not answer: " + ", ".join(names[:1]))
    return known


def query_gpus(names):
    """nvidia-smi's rows by UUID, or by number if UUIDs were not queried."""
    out = run("nvidia-smi", "--query-gpu=" + ",".join(names), "--format=csv,noheader,nounits")
    rows = {}
    for number, line in enumerate(line for line in out.splitlines() if line.strip()):
        cells = [cell.strip() for cell in line.split(", ")]
        if len(cells) != len(names):
            raise CannotCheck(f"nvidia-smi answered {len(cells)} values to {len(names)} queries: {line}")
        row = dict(zip(names, cells))
        rows[row.get("uuid", number)] = row
    return rows


def query_processes():
    """nvidia-smi's compute processes: (UUID, pid) → MiB or None."""
    out = run("nvidia-smi", "--query-compute-apps=gpu_uuid,pid,used_gpu_memory", "--format=csv,noheader,nounits")
    found = {}
    for line in out.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 3 and cells[1].isdigit():
            key, used = (cells[0], int(cells[1])), parse_smi(cells[2], "bytes")
            if key not in found or (used or 0) > (found[key] or 0):
                found[key] = used
    return found


def once(vramscope):
    """vramscope's snapshot."""
    snapshot = json.loads(run(vramscope, "once", "--format", "json"))
    if snapshot.get("schema") != "vramscope/1" or snapshot.get("simulated"):
        raise CannotCheck(f"{vramscope} once: schema {snapshot.get('schema')}, simulated {snapshot.get('simulated')}")
    return snapshot


def flush(vramscope, pid, *flags):
    """The result of vramscope flush. With exit code 1 nothing was freed, and the result says so, too."""
    command = (vramscope, "flush", str(pid), "--yes", "--format", "json", *flags)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as problem:
        raise CannotCheck(f"vramscope flush: no answer in {CALL_SECONDS} s") from problem
    if done.returncode not in (0, 1) or not done.stdout:
        errors = (done.stderr or done.stdout).strip().splitlines()
        raise CannotCheck(f"vramscope flush: exit code {done.returncode}: {errors[0] if errors else 'no message'}")
    return json.loads(done.stdout)["flush"]


def settled():
    """Waits until the driver's figures show the last allocation."""
    time.sleep(SETTLE_SECONDS)
