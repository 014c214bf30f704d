"""%vram in IPython and Jupyter: this kernel's GPU memory, and who else is on its GPUs."""

import os
import time
from typing import List, Optional

import vramscope_probe  # noqa: F401  notices the GPU libraries that the notebook imports

from . import Error, Snapshot, run, self, size, snapshot
from .documents import Gpu, Process

COLUMNS = "GPU   PID      USER       USED  ALLOC CACHED   FRAG  OTHER  FLUSH  WHO"


def vram(line: str) -> None:
    """%vram shows this kernel's memory and who else is on its GPUs; %vram flush [LEVEL] frees what it has cached."""
    words = line.split()
    try:
        if not words:
            print(_table(_look()))
        elif words[0] == "flush" and len(words) < 3:
            _look()
            _, written, message = run("flush", str(os.getpid()), "--yes", *(["--level", words[1]] if len(words) > 1 else []))
            print((written + message).strip())
        else:
            print("%vram, or %vram flush [gradual|selective|urgent]")
    except Error as error:
        print("vramscope: %s" % error)


def _look() -> Snapshot:
    """A snapshot. If this kernel uses a GPU, waits up to 3 s until the snapshot has the kernel's own figures."""
    until = time.monotonic() + (3 if self()["devices"] else 0)
    while True:
        document = snapshot()
        own = [process for gpu in document["gpus"] for process in gpu["processes"] if _is_own(process)]
        if any(process["allocated_bytes"] is not None for process in own) or time.monotonic() >= until:
            return document
        time.sleep(0.1)


def _is_own(process: Process) -> bool:
    namespace = process["pid_namespace"]
    return process["pid"] == os.getpid() and namespace in (None, os.stat("/proc/self/ns/pid").st_ino)


def _table(document: Snapshot) -> str:
    gpus = [gpu for gpu in document["gpus"] if any(map(_is_own, gpu["processes"]))]
    lines: List[str] = [] if gpus else ["this kernel (PID %d) has no memory on a GPU" % os.getpid()]
    lines.append(COLUMNS)
    for gpu in gpus or document["gpus"]:
        for process in sorted(gpu["processes"], key=lambda process: (not _is_own(process), -(process["used_bytes"] or 0))):
            lines.append(_row(gpu, process))
        memory = gpu["memory"]
        lines.append("%3s   %s free of %s" % (_text(gpu["index"]), size(memory["free_bytes"]), size(memory["total_bytes"])))
    return "\n".join(lines)


def _row(gpu: Gpu, process: Process) -> str:
    parts = [process["used_bytes"], process["allocated_bytes"], process["cached_bytes"], process["fragmented_bytes"]]
    parts += [process["other_bytes"], process["returnable_bytes"]]
    who = "this kernel" if _is_own(process) else _text(process["command"] or process["name"])[:60]
    figures = "".join("%7s" % size(part) for part in parts)
    return "%3s   %-8d %-8s%s  %s" % (_text(gpu["index"]), process["pid"], _text(process["user"])[:8], figures, who)


def _text(value: Optional[object]) -> str:
    """The text of a value, – for None. Characters that could change the screen become question marks."""
    return "–" if value is None else "".join(c if c.isprintable() else "?" for c in str(value))
