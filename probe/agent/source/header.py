"""The vramscope probe: what the GPU memory of this Python process is.

`vramscope run` puts it on PYTHONPATH; a program may also import it itself:

    import vramscope_probe
    vramscope_probe.register_evictable("tokenizer cache", 10, cache.clear)

It needs nothing but the standard library, of Python 3.8 or newer, on Linux.

    import hook ── torch, cupy, jax … is being imported ──→ thread, watching
                   (only looks)                                │ a library uses a GPU
    monitor ←── one JSON object a line, Unix socket ──── thread, serving
                                                               │ flush, snapshot
                                                         a thread for each, while it lasts

It must be a good guest. It never imports or initialises a library, never
makes a CUDA context, and makes no CUDA call that waits for the GPU except in a flush, which
somebody has confirmed. Nothing that fails in it reaches the program. Its threads
are no threads of the `threading` module and take no signals. A forked child
drops what it inherited.

docs/protocol.md of vramscope describes what it speaks.
"""

import _thread
import os
import sys

__all__ = ["register_evictable", "unregister_evictable"]
__version__ = "1.0.0"

_PROTOCOL = "vramscope/1"

# The packages whose import starts the thread. A package's name alone may be
# looked for without being imported (importlib.util.find_spec); a submodule's
# may not.
_LIBRARIES = frozenset(["torch", "cupy", "jax", "tensorflow", "rmm"])

_CMSG_CLOEXEC = 0x40000000  # MSG_CMSG_CLOEXEC, which the socket module of 3.8 has no name for
_MAX_LINE = 256 << 10
_MAX_MEMBERS = 16 << 10
_MAX_DEPTH = 512
_MAX_BYTES = 1 << 50
_MAX_COUNT = 1 << 53
_MAX_TEXT = 256
_MAX_DEVICES = 64
_MAX_NOTES = 8
_MAX_EVICTABLE = 32

_CONNECTIONS = 16
_IDLE_TIME = 120.0  # then a connection is closed
_LINE_TIME = 5.0  # for the rest of a line that has begun
_WRITE_TIME = 2.0  # for a monitor to take an answer
_PLACE_TIME = 5.0  # between two looks at the socket's name
_FLUSH_BURST = 8  # flushes at once
_FLUSH_EVERY = 2.0  # and one more each such time
_STATS_TIME = 0.9  # books younger than that are not read again
_SIZES_TIME = 4.0  # between two questions to the program how large its caches are …
_SIZES_SHARE = 200  # … and so many times as long as it took to answer …
_SIZES_MOST = 120.0  # … but no longer than that
_SIZES_OLD = 30.0  # a size that was told before that is not told any more
_SIZES_WAIT = 0.05  # that the thread waits for the program to tell them
_FORK_TIME = 5.0  # that a fork waits for an import of ours
_LEAVE_TIME = 0.5  # that the end of the program waits for the thread
_SNAPSHOT_SHARE = 0.0003  # of the time may be spent in PyTorch's snapshots …
_SNAPSHOT_MOST = 0.02  # … and no longer than this at a stretch, in seconds
_MAP_MOST = 0.5  # seconds that a map which somebody asks for may take at a stretch …
_MAP_SHARE = 0.02  # … and the share of the time that maps may take in the long run
_MAP_SCHEMA = "vramscope/segments/1"
_MAP_SEGMENTS = 8 << 10
_MAP_BLOCKS = 128 << 10
_FILE_MOST = 8 << 30  # bytes of PyTorch's own snapshot


def _complain(doing):
    """Writes the exception at hand where somebody asked for it; never raises."""
    try:
        if os.environ.get("VRAMSCOPE_PROBE_DEBUG"):
            import traceback

            sys.stderr.write("vramscope probe, %s:\n%s" % (doing, traceback.format_exc()))
    except Exception:
        pass  # there is no other place to complain


def _module(name):
    """A module that the program has imported, or is importing, or None."""
    return sys.modules.get(name)


def _attribute(value, *path):
    """value.a.b.c, or None where one of them is not there (yet)."""
    for name in path:
        value = getattr(value, name, None)
        if value is None:
            return None
    return value


def _clip(text):
    text = str(text)
    while len(text.encode("utf-8", "replace")) > _MAX_TEXT:
        text = text[: len(text) - 1 - len(text) // 16]
    return text


def _size(count):
    """A size for people."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            break
        count /= 1024
    else:
        unit = "GiB"
    return ("%d %s" if unit == "B" else "%.1f %s") % (count, unit)


def _first_line(error):
    lines = str(error).strip().splitlines()
    return "%s: %s" % (type(error).__name__, lines[0]) if lines else type(error).__name__


def _no_thread(error, instead=""):
    """Why no thread could be started, in words that help.

    Python 3.12 took the end of the first thread for that of the program, until
    3.12.3: https://github.com/python/cpython/issues/113964
    """
    if "interpreter shutdown" not in str(error):
        return _first_line(error)
    if sys.version_info[:2] != (3, 12) or sys.version_info >= (3, 12, 3):
        return "the program is ending"
    return (
        "the program's first thread has ended, and Python 3.12.0 to 3.12.2 start no other one then; "
        "have the first thread wait for the others (join), use a newer Python" + instead
    )


# Held while we import, and while the program forks. A child that was forked in
# the middle of an import of ours would wait for that module for ever: it has the
# module's lock, but not the thread that holds it.
_imports = _thread.RLock()


def _before_fork():
    _imports.acquire(True, _FORK_TIME)


def _after_fork_in_parent():
    try:
        _imports.release()
    except RuntimeError:
        pass  # it was not had in time


class _Refusal(Exception):
    """What a monitor is told instead of an answer."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
