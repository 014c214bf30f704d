# vramscope attach runs this in a process: on a thread that gdb started or, with
# sys.remote_exec, on the main thread, where it only starts a thread. That thread
# loads the probe and becomes the probe's. The caller sets directory, source (the
# probe's), remote, listen (listen.py, which gdb's thread has run before), and
# seccomp (a line of the kernel's, see permitted).
#
# At each system call another thread may take the GIL, which C code may then keep for
# a second. So there are few: the source comes with this text, no other thread is
# started, and the call that reports a failure needs no file descriptor either.
# Nothing is written to the program's output.

import _thread
import posix
import sys


def begin():
    if not remote:
        load()
    elif permitted():
        try:
            thread_starter()(load, ())
        except Exception as error:
            report(error)


def thread_starter():
    """The system's own function: gevent and eventlet make a greenlet instead."""
    start = _thread.start_new_thread
    gevent, eventlet = sys.modules.get("gevent.monkey"), sys.modules.get("eventlet.patcher")
    if type(start) is not type(len) and gevent:
        start = gevent.get_original("_thread", "start_new_thread")
    if type(start) is not type(len) and eventlet:
        start = eventlet.original("_thread").start_new_thread
    return start


def permitted():
    """Whether this thread has the seccomp filters that it was examined with: any
    further call could kill it."""
    file = posix.open("/proc/thread-self/status", posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        status = posix.read(file, 1 << 16)
    finally:
        posix.close(file)
    return b"\nSeccomp:\t0\n" in status or b"\nSeccomp:" not in status or seccomp in status


def load():
    try:
        if remote:
            exec(listen, {})
    except BaseException:
        pass
    if not left():
        try:
            posix.unlink(directory + b"claim")
        except BaseException:
            return  # vramscope has given up, and removed it first
    try:
        reason = start()
    except BaseException as error:
        reason = error
    file, path = socket() or (-1, b"")
    if file >= 0:  # the probe does not serve
        posix.close(file)
        posix.unlink(path)
    if reason:
        report(reason)


def left():
    """What listen.py has left for this."""
    of = sys.__dict__.get("vramscope_attach", {})
    return of if of.get("directory") == directory else {}


def socket():
    """The descriptor and path of the socket that listens, or None; once."""
    of = left()
    if of:
        del sys.__dict__["vramscope_attach"]
    return of.get("socket")


def report(reason):
    try:
        if isinstance(reason, BaseException):
            reason = "%s: %s" % (type(reason).__name__, reason)
        posix.symlink(reason.replace("\0", " ").encode("utf-8", "replace")[:1000], directory + b"failed")
    except BaseException:
        pass  # vramscope will give up


def start():
    there = sys.modules.get("vramscope_probe")
    if not there:
        probe = type(sys)("vramscope_probe")
        probe.__file__ = "<vramscope_probe>"
        probe._started_by = "attach"
        exec(compile(source, "<vramscope_probe>", "exec"), probe.__dict__)
        there = sys.modules.setdefault("vramscope_probe", probe)  # atomic: one probe per process
        if there is probe:
            return probe._start(at_once=True, started_by="attach", socket=socket)
    if not hasattr(there, "_start"):
        return "another probe is being started in it; try again"
    return there._start(at_once=True, started_by="attach")


begin()
