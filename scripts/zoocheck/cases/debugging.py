"""Programs that look at themselves, or change how Python works."""

from zoocheck.case import Case

CASES = [
    Case("tracemalloc", script="traces_memory.py"),
    Case("settrace", script="settrace.py", arguments=("settrace",)),
    Case("setprofile", script="settrace.py", arguments=("setprofile",)),
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
    Case("gc debug", script="collects.py"),
    Case("gc disabled", script="collects.py", arguments=("disable",)),
    Case("replaced builtins", script="builtins_gone.py", refused={"run": "", "attach": "nothing will happen later"}),
    Case("sys.path and meta_path emptied", script="no_path.py", refused={"attach": "does not start|did not answer"}),
    Case("sys.stdout gone", script="no_stdout.py"),
    Case("sub-interpreters", script="interpreters.py", until=(3, 12)),
    Case("sub-interpreter imports the library", script="interpreters_gpu.py", until=(3, 11)),
    Case("embedded, Py_BytesMain", script="embed.py", arguments=("main",), tools=("cc",), embeds=True),
    Case("embedded, Py_Initialize", script="embed.py", arguments=("initialize", "1"), tools=("cc",), embeds=True, exit=5),
    Case("embedded, three rounds", script="embed.py", arguments=("initialize", "3"), tools=("cc",), embeds=True, exit=5, meetings=3),
]
