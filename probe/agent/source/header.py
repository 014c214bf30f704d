"""The vramscope probe: reports the GPU memory of the Python process that it runs in.

`vramscope run` puts it on PYTHONPATH; a program may also import it itself:

    import vramscope_probe
    vramscope_probe.register_evictable("tokenizer cache", 10, cache.clear)

It needs Linux and the standard library of Python 3.8 or newer.

    import hook ── torch, cupy, jax … is imported ──→ thread: waits
                                                         │ a library uses a GPU
    monitor ←── Unix socket, one JSON object a line ── thread: serves
                                                         │ flush, snapshot, holds
                                                     a thread for each

The probe never imports or initialises a GPU library, and makes a CUDA context only to
set a cap. Only a flush makes CUDA calls that wait for the GPU. No failure of the
probe reaches the program. The probe's threads are unknown to the `threading` module
and block signals. A forked child closes the descriptors that it inherited.

docs/protocol.md of vramscope describes the protocol.
"""

import _imp
import _io
import _thread
import os
import posix
import sys
import time
from _weakref import ref as _weak_reference

__all__ = ["register_evictable", "stats", "step", "unregister_evictable"]
__version__ = "1.0.0"

_PROTOCOL = "vramscope/1"

_POLLIN, _POLLOUT, _POLLNVAL = 1, 4, 32
_EADDRINUSE = 98
_CMSG_CLOEXEC = 0x40000000  # MSG_CMSG_CLOEXEC, missing from the socket module of 3.8
_MAX_LINE = 256 << 10
_MAX_MEMBERS = 16 << 10
_MAX_DEPTH = 512
_MAX_BYTES = 1 << 50
_MAX_COUNT = 1 << 53
_MAX_TEXT = 256
_MAX_DEVICES = 64
_MAX_ALLOCATORS = 64  # of one device
_MAX_NOTES = 8
_MAX_EVICTABLE = 32
_MAX_CONNECTIONS = 16
_MAX_ERRORS = 8  # newest out-of-memory errors of one source
_MAX_OPTIMIZERS = 64

# Durations are in seconds.
_IDLE_TIME = 120.0  # without a request; then the connection is closed
_LINE_TIME = 5.0  # from the first to the last byte of a request
_WRITE_TIME = 2.0  # for a monitor to accept an answer
_BIND_TIME = 10.0  # a younger socket may be one that does not listen yet: it is not removed
_CHECK_TIME = 5.0  # between checks that the socket's name still exists
_FLUSH_BURST = 8  # flushes that are allowed at once
_FLUSH_EVERY = 2.0  # time after which one more flush is allowed
_STATS_TIME = 0.9  # a report is sent again up to this age, or longer if it is slow to read
_SIZES_TIME = 4.0  # minimum time between calls of the caches' size functions
_SIZES_FACTOR = 200  # minimum time between calls of size functions, as a multiple of their duration
_SIZES_MAX_TIME = 120.0  # even slow size functions are called again after this time
_SIZES_MAX_AGE = 30.0  # how long sizes are reported after new ones are due
_SIZES_WAIT = 0.05  # how long hello waits for new sizes
_STOPPED = 99999989  # a threshold of the garbage collector that is never reached (_CollectionOff)
_FORK_TIME = 5.0  # how long a fork waits for the probe (_ForkLock)
_START_TIME = 1.0  # how long the program waits for the probe's thread to begin
_RECENT_TIME = 10.0  # monitors may not know an error that is younger
_RECORD_TIME = 60.0  # how long probes leave the record of an error in place
_MAX_RECORDS = 64  # of one user
_MAX_WORDS = 32  # of a command line in a record
_STOP_TIME = 0.5  # how long the program's exit waits for the probe's threads
_RECORD_STOP_TIME = 3.0  # how long the exit waits if the program has just run out of memory
_BUSY_TIME = 5.0  # how long a request waits for the locks of PyTorch's allocator
_REST = 0.02  # what a collection frees is known only if nothing is allocated or freed for this long before and after
_SNAPSHOT_SHARE = 0.0003  # the share of the time that snapshots for stats may take
_SNAPSHOT_MOST = 0.02  # the longest snapshot for stats
_ERROR_MOST = 0.002  # the longest snapshot inside a failing allocation
_SLEEPERS = 64  # how many segments that may be asleep are looked at for each report
_ERROR_LOOK, _ERROR_EVERY, _MAX_STACK, _MAX_HELD = 0.02, 10**9, 8, 12  # for one error: the seconds of a search for holders, the least ns between two searches, the most functions listed, the most holders listed
_MAP_MOST = 0.5  # the longest pause that a requested map may cause
_MAP_SHARE = 0.02  # the share of the time that maps may take, and that searches for holders may take
_HOLD = 0.003  # how long the search for holders keeps the GIL at a time
_HOLD_MOST = 0.005  # the longest pause that a snapshot for this search may cause
_PAUSE = 0.002  # after each hold: in 1 ms another thread was not always awake
_WALKS = 4  # how often the search is repeated because memory came and went
_LOOK_MOST = 20.0  # time after which the search for holders gives up
_STEP_WAIT = 15.0  # how long the search waits for the end of a step
_MAX_ENDS = 4  # how many optimizers' ends of a step the search looks at
_MAX_MODULES = 256 << 10
_LOOKED, _NAMES = 4096, 3  # values of the program's variables that are looked at, and variables that are named
_MAX_THREADS, _MAX_FRAMES = 64, 64
_HISTORY = 32 << 10  # entries of the history that the probe records: to forget them takes 2 ms
_WHOLE_HISTORY = 1 << 20  # entries of a history that is recorded from the start
_EMPTIED = 64 << 10  # how many emptyings of the cache are noted
_RECORD_MOST = 1800
_MAX_LEFT = 3  # snapshots of out-of-memory errors, by one process
_MAP_SCHEMA = "vramscope/segments/1"
_MAP_SEGMENTS = 8 << 10
_MAP_BLOCKS = 128 << 10
_FILE_MOST = 8 << 30  # bytes of PyTorch's own snapshot


def _log_failure(doing):
    """Prints the current exception if VRAMSCOPE_PROBE_DEBUG is set; never raises."""
    try:
        if os.environ.get("VRAMSCOPE_PROBE_DEBUG"):
            import traceback

            sys.stderr.write("vramscope probe, %s:\n%s" % (doing, traceback.format_exc()))
    except Exception:
        pass  # standard error is unusable too


def _module(name):
    """A module that the program has imported or is importing, or None."""
    return sys.modules.get(name)


def _attribute(value, *path):
    """value.a.b.c, or None if one of them is missing."""
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
    """A byte count for people."""
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


def _thread_failure(error, instead=""):
    """Explains an error at the start of a thread.

    Python 3.12.0 to 3.12.2 treat the end of the main thread as interpreter
    shutdown: https://github.com/python/cpython/issues/113964
    """
    if "interpreter shutdown" not in str(error):
        return _first_line(error)
    if sys.version_info[:2] != (3, 12) or sys.version_info >= (3, 12, 3):
        return "the program is exiting"
    return (
        "the program's main thread has ended, and Python 3.12.0 to 3.12.2 then start no other thread; "
        "have the main thread join the others, use a newer Python" + instead
    )


class _Refusal(Exception):
    """An error answer to a monitor."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
