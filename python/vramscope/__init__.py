"""vramscope for Python: who holds the GPUs' memory, and what it is, as dictionaries.

    vramscope.snapshot()               who holds memory on which GPU, and what it is
    vramscope.headroom(need="20GiB")   whether a job fits
    vramscope.self()                   what this process's own allocators hold

The first two run the program and return its JSON. docs/json.md and docs/headroom.md describe
every key, and vramscope.documents has their types. None means unknown.
"""

import os

from typing import Any, List, Optional, Tuple, TypedDict, Union, cast

from .documents import Headroom, HeadroomDocument
from .documents import OnceDocument as Snapshot

__all__ = ["Allocator", "Device", "Error", "Headroom", "Snapshot", "Stats", "headroom", "program", "self", "snapshot"]


class Error(Exception):
    """An error with the program's message. code is its exit code, None if it did not run."""

    def __init__(self, message: str, code: Optional[int] = None):
        super().__init__(message)
        self.code = code


class Allocator(TypedDict, total=False):
    """What one allocator of a process holds (docs/protocol.md). A key that is missing is unknown."""

    kind: str
    reserved_bytes: int
    allocated_bytes: int
    cached_bytes: int
    fragmented_bytes: int
    returnable_bytes: int
    pending_bytes: int
    asleep_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int


class Device(TypedDict, total=False):
    uuid: str
    allocators: List[Allocator]
    total_bytes: int


class Stats(TypedDict):
    time_ns: int
    devices: List[Device]


def program() -> str:
    """The path of the program that was installed with this package."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        paths = [str(file.locate()) for file in files(__name__) or () if file.parts[-2:] == ("bin", "vramscope")]
    except PackageNotFoundError:
        paths = []
    paths.append(os.path.join(os.path.dirname(os.path.dirname(__file__)), "bin", "vramscope"))  # pip install --target
    for path in paths:
        if os.access(path, os.X_OK):
            return os.path.realpath(path)
    raise Error("the program vramscope is not where its package was installed: " + " or ".join(paths))


def run(*arguments: str) -> Tuple[int, str, str]:
    """Runs the program. Returns its exit code, its output and its message."""
    import subprocess

    try:
        done = subprocess.run([program(), *arguments], stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, encoding="utf-8")
    except OSError as error:
        raise Error(str(error)) from None
    message = done.stderr.strip()
    return done.returncode, done.stdout, message[len("vramscope: ") :] if message.startswith("vramscope: ") else message


def _document(arguments: List[str], expected: Tuple[int, ...], gpu: Optional[str], demo: bool) -> object:
    import json

    arguments = arguments + ["--format", "json"] + ["--demo"] * demo + (["--gpu", gpu] if gpu else [])
    code, written, message = run(*arguments)
    if code not in expected or not written:
        raise Error(message or "vramscope ended with exit code %d" % code, code)
    return json.loads(written)


def snapshot(*, gpu: Optional[str] = None, watch: Optional[str] = None, demo: bool = False) -> Snapshot:
    """One snapshot of the box: the document of `vramscope once --format json`.

    gpu limits the snapshot to these GPUs: "0,2" or UUIDs. watch observes the box for this long
    first ("60s"), which alerts and forecasts need.
    """
    return cast(Snapshot, _document(["once"] + (["--watch", watch] if watch else []), (0,), gpu, demo))


def headroom(
    need: Union[int, str], *, count: int = 1, horizon: Optional[str] = None, wait: Optional[str] = None, gpu: Optional[str] = None, demo: bool = False
) -> Headroom:
    """Whether a job that needs this much (bytes, or "20GiB") fits: the answer of `vramscope
    headroom`.

    ["answer"] is "yes", "after_flush", "no" or "unknown". horizon is the flag --for: the job must
    fit for this long.
    """
    arguments = ["headroom", "--need", str(need), "--count", str(count)]
    arguments += ["--for", horizon] if horizon else []
    arguments += ["--wait", wait] if wait else []
    document = cast(HeadroomDocument, _document(arguments, (0, 1, 3, 4), gpu, demo))
    return document["headroom"]


def self() -> Stats:
    """What the allocators of this process hold now, as its own probe reports. devices is empty if
    no library has used a GPU."""
    import vramscope_probe

    try:
        return cast(Stats, vramscope_probe.stats())
    except RuntimeError as error:
        raise Error(str(error)) from None


def size(count: Optional[int]) -> str:
    """Bytes for people, as the program writes them: 9.87G."""
    if not count:
        return "–" if count is None else "0"
    value = float(count)
    for unit in ("B", "K", "M", "G"):
        if abs(value) < 1000:
            break
        value /= 1024
    else:
        unit = "T"
    return "%.*f%s" % (0 if unit == "B" or abs(value) >= 100 else 1 if abs(value) >= 10 else 2, value, unit)


def load_ipython_extension(shell: Any) -> None:
    """%load_ext vramscope"""
    from .notebook import vram

    shell.register_magic_function(vram, "line", "vram")
