# What vramscope attach runs in a process, on a thread of its own or, with
# sys.remote_exec, on the main thread: it brings the probe in and starts it. Its
# directory is named by whoever runs it. What goes wrong is written there, never to the program.


def bring():
    import os
    import sys

    def tell(name, text):
        with open(directory + name + b".new", "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        os.rename(directory + name + b".new", directory + name)

    probe = None
    try:
        probe = sys.modules.get("vramscope_probe")
        if probe is None:
            with open(directory + b"vramscope_probe.py", encoding="utf-8") as file:
                source = file.read()
            code = compile(source, "<vramscope_probe>", "exec")
            probe = type(sys)("vramscope_probe")
            probe.__file__ = "<vramscope_probe>"
            sys.modules["vramscope_probe"] = probe
            try:
                exec(code, probe.__dict__)
            except BaseException:
                del sys.modules["vramscope_probe"]
                raise
        reason = probe._start(at_once=True, started_by="attach")
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
    if reason:
        tell(b"failed", str(reason))
    else:
        tell(b"started", "")


bring()
