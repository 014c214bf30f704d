"""Programs that look at themselves, or change how Python works."""

from zoocheck.case import Case

# Since Python 3.14 the payload runs on the main thread, which the program traces. If the payload did not
# run, an empty script remains: docs/attach.md.
PAYLOAD = ((r"\['<vramscope attach>'\]$", "[]"),)

CASES = [
    Case("tracemalloc", script="traces_memory.py"),
    Case("settrace", script="settrace.py", arguments=("settrace",), normalise=PAYLOAD),
    Case("setprofile", script="settrace.py", arguments=("setprofile",), normalise=PAYLOAD),
    Case("sys.monitoring", script="monitoring.py", since=(3, 12)),
    Case("cProfile", script="profile_own.py"),
    Case("coverage", command=("$PYTHON", "-m", "coverage", "run", "--data-file=$WORK/data", "$PROGRAMS/covered.py"), needs=("coverage",)),
    Case("coverage of threads", script="covers.py", needs=("coverage",)),
    Case("debugpy", script="debugs.py", needs=("debugpy",), normalise=((r"^\d+\.\d+s", "SECONDS"),)),
    Case("import hooks", script="import_hooks.py"),
    Case("replaced __import__", script="own_import.py"),
    Case("audit hook", script="audits.py", arguments=("counts",)),
    Case("audit hook that forbids sockets", script="audits.py", arguments=("forbids",),
         refused={"run": "", "attach": "did not answer|does not start"}),
    Case("iterates over modules", script="walks.py", arguments=("modules",)),
    Case("looks for changed modules every 20 ms", script="walks.py", arguments=("reloads",)),
    Case("iterates over all objects", script="walks.py", arguments=("objects",)),
    Case("iterates over threads and frames", script="walks.py", arguments=("threads",)),
    Case("gc debug", script="collects.py"),
    Case("gc disabled", script="collects.py", arguments=("disable",)),
    Case("replaced builtins", script="builtins_gone.py", refused={"run": "", "attach": "nothing will happen later"}, leaves=r"/start\.py$"),
    Case("sys.path and meta_path emptied", script="no_path.py"),
    Case("sys.stdout gone", script="no_stdout.py"),
    Case("sub-interpreters", script="interpreters.py", until=(3, 12)),
    Case("sub-interpreter imports the library", script="interpreters_gpu.py", until=(3, 11)),
    Case("embedded, Py_BytesMain", script="embed.py", arguments=("main",), tools=("cc",), embeds=True),
    Case("embedded, Py_Initialize", script="embed.py", arguments=("initialize", "1"), tools=("cc",), embeds=True, exit=5),
    Case("embedded, three rounds", script="embed.py", arguments=("initialize", "3"), tools=("cc",), embeds=True, exit=5, meetings=3),
]
