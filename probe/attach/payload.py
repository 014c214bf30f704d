# What vramscope attach runs in a process, on a thread of its own or, with
# sys.remote_exec, on the main thread: it brings the probe in and starts it. Its
# directory is named by whoever runs it. What goes wrong is written there, never to the program.


def bring():
    import _thread
    import os
    import sys

    def tell(name, text):
        with open(directory + name + b".new", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.rename(directory + name + b".new", directory + name)

    # A child that is forked while a module is being imported here would wait for
    # that module for ever: it has the lock, but not the thread that holds it. So
    # whoever forks waits until this is over, a moment, and never for long.
    busy = _thread.allocate_lock()
    busy.acquire()
    over = []

    def wait():
        if not over and busy.acquire(True, 5.0):
            busy.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=wait)
    try:
        reason = start(sys)
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
    finally:
        over.append(True)
        busy.release()
    if reason:
        tell(b"failed", str(reason))
    else:
        tell(b"started", "")


def start(sys):
    probe = sys.modules.get("vramscope_probe")
    if probe is None:
        with open(directory + b"vramscope_probe.py", encoding="utf-8") as file:
            source = file.read()
        code = compile(source, "<vramscope_probe>", "exec")
        probe = type(sys)("vramscope_probe")
        probe.__file__ = "<vramscope_probe>"
        probe._started_by = "attach"
        sys.modules["vramscope_probe"] = probe
        try:
            exec(code, probe.__dict__)
        except BaseException:
            del sys.modules["vramscope_probe"]
            raise
    return probe._start(at_once=True, started_by="attach")


bring()
