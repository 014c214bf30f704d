# vramscope attach runs this in a process, on a new thread or, with sys.remote_exec,
# on the main thread: it loads the probe and starts it. The caller sets directory,
# where the outcome is written; nothing is written to the program's output.


def load():
    import _thread
    import os
    import sys

    def report(name, text):
        with open(directory + name + b".new", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.rename(directory + name + b".new", directory + name)

    # A child forked during an import here would inherit the import lock without the
    # thread that holds it, and wait for ever. So a fork waits until the imports are
    # done, at most 5 s.
    busy = _thread.allocate_lock()
    busy.acquire()
    done = []

    def wait():
        if not done and busy.acquire(True, 5.0):
            busy.release()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=wait)
    try:
        reason = start(sys)
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
    finally:
        done.append(True)
        busy.release()
    if reason:
        report(b"failed", str(reason))
    else:
        report(b"started", "")


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


load()
