# vramscope attach runs this in a process, after probe/agent/source/library.py: on a
# thread that gdb started or, with sys.remote_exec, on the main thread, where it only
# starts a thread. That thread takes the right to start the probe, listens on the probe's
# socket, loads the probe and becomes the probe's thread. The caller sets directory (the
# payload's), path (the socket's, or b""), source (the probe's), remote, and seccomp
# (lines of a /proc status, see permitted).
#
# Another thread may take the GIL at each system call of Python's, and by default asks
# for it after five milliseconds. C code may then keep the GIL for a second. So until
# this code listens it does little, and calls the C library with the GIL held. Later it
# makes few calls: the source comes with this text, no other thread is started, and to
# report a failure takes one call, without a file descriptor. Nothing is written to the
# program's output, and no module is imported: see library.py.

import _imp
import _thread
import posix
import sys

_started_by = "attach"


def begin():
    if not remote:
        load()
    elif permitted():
        try:
            thread_starter()(load, ())
        except Exception as error:
            report(error)


def thread_starter():
    """Returns the system's start_new_thread, which gevent and eventlet replace by a function that makes a greenlet."""
    start = _thread.start_new_thread
    gevent, eventlet = sys.modules.get("gevent.monkey"), sys.modules.get("__original_module__thread")
    if type(start) is not type(len) and gevent:
        start = gevent.get_original("_thread", "start_new_thread")
    if type(start) is not type(len) and eventlet:
        start = eventlet.start_new_thread
    return start


def permitted():
    """Reports whether this thread has no seccomp filters, or as many as vramscope. Under
    other filters any further call could kill the process."""
    file = posix.open("/proc/thread-self/status", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        status = posix.read(file, 1 << 16)
    finally:
        posix.close(file)
    return b"\nSeccomp:\t0\n" in status or b"\nSeccomp:" not in status or seccomp in status


def load():
    left = []  # (descriptor, path) of the socket that listens, until the probe has it
    try:
        call = c_library()
        if call("unlink", directory + b"claim") != 0:
            return  # vramscope has given up, and removed it first
        posix.register_at_fork(after_in_child=lambda: left and posix.close(left.pop()[0]))
        listen(call, left)
        reason = start(left)
    except BaseException as error:
        reason = error
    if left:  # the probe does not serve
        file, name = left.pop()
        posix.close(file)
        posix.unlink(name)
    if reason:
        report(reason)


def c_library():
    """Returns a function that calls a function of the C library by its name."""
    c = _library("_ctypes")
    handle = c.dlopen(None, 0)
    integer = type("integer", (c._SimpleCData,), {"_type_": "i"})
    cdecl, holds_gil = 1, 4
    function = type("function", (c.CFuncPtr,), {"_flags_": cdecl | holds_gil, "_restype_": integer})
    return lambda name, *arguments: function(c.dlsym(handle, name))(*arguments)


def listen(call, left):
    """Listens on the socket and adds it to left. If that fails, the probe finds out why."""
    if not path or hooks() or "vramscope_probe" in sys.modules:
        return
    stream, local = 1 | posix.O_CLOEXEC | posix.O_NONBLOCK, 1
    file = call("socket", local, stream, 0)
    address = local.to_bytes(2, sys.byteorder) + path + b"\0"
    if file >= 0 and call("bind", file, address, len(address)) == 0:
        if call("chmod", path, 0o600) == 0 and call("listen", file, 16) == 0:
            left.append((file, path))
            return
        call("unlink", path)
    call("close", file)


def hooks():
    """Returns the globals of the probes that have an import hook in the process."""
    every = [getattr(finder, "find_spec", None) for finder in sys.meta_path if getattr(finder, "__name__", None) == "_ImportHook"]
    return [f.__globals__ for f in every if getattr(f, "__module__", None) == "vramscope_probe"]


def report(reason):
    try:
        if isinstance(reason, BaseException):
            reason = "%s: %s" % (type(reason).__name__, reason)
        posix.symlink(reason.replace("\0", " ").encode("utf-8", "replace")[:1000], directory + b"failed")
    except BaseException:
        pass  # vramscope will give up


def start(socket):
    for there in hooks():
        return there["_start"](at_once=True, started_by="attach")
    if "vramscope_probe" in sys.modules:
        return "another probe is being started in it; try again"
    if "os" not in sys.modules:
        return "attach would have to import os; start the program with vramscope run"
    code = compile(source, "<vramscope_probe>", "exec")
    probe = type(sys)("vramscope_probe")
    # All names are set at the start: code that iterates over all dicts of the process sees none
    # grow.
    names = {name: None for name in code.co_names if name not in sys.modules["builtins"].__dict__}
    names.update(__builtins__=__builtins__, __file__="<vramscope_probe>", _itself=probe, _started_by=_started_by, _private=_private)
    probe.__dict__.update(names)
    exec(code, probe.__dict__)
    for there in hooks():
        return there["_start"](at_once=True, started_by="attach")
    return probe._start(at_once=True, started_by="attach", socket=socket)


begin()
