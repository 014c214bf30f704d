"""How Python is started: flags, environment, names."""

from zoocheck.case import Case

IGNORED = r"under -[IES] Python i"  # … gnores PYTHONPATH, imports no sitecustomize
# With -I and -E Python does not look where the helper and the stand-in are.
FIND = "import os, sys; sys.path[:0] = [os.environ['PROGRAMS'], os.environ['STAND_IN']]; import job"

CASES = [
    Case("job"),
    Case("flag -O", flags=("-O",)),
    Case("flag -OO", flags=("-OO",)),
    Case("flag -B", flags=("-B",), environ={"PYTHONDONTWRITEBYTECODE": None}),
    Case("flag -s", flags=("-s",)),
    Case("flag -u", flags=("-u",)),
    Case("flag -bb", flags=("-bb", "-q")),
    Case("flag -P", flags=("-P",), since=(3, 11)),
    Case("flag -I", command=("$PYTHON", "-I", "-c", FIND), refused={"run": IGNORED}),
    Case("flag -E", command=("$PYTHON", "-E", "-c", FIND), refused={"run": IGNORED}),
    Case("flag -S", flags=("-S",), refused={"run": IGNORED}),
    Case("flag -c", command=("$PYTHON", "-c", "import job")),
    Case("flag -m", command=("$PYTHON", "-m", "job")),
    Case("program on stdin", command=("$PYTHON", "-"), stdin=b"import job\n"),
    Case("-X dev -W error", flags=("-X", "dev", "-W", "error")),
    Case("-X faulthandler", flags=("-X", "faulthandler")),
    Case("-X tracemalloc", flags=("-X", "tracemalloc=25")),
    Case("-X utf8", flags=("-X", "utf8")),
    Case("-X frozen_modules=off", flags=("-X", "frozen_modules=off"), since=(3, 11)),
    Case("-X warn_default_encoding", flags=("-X", "warn_default_encoding", "-W", "error::EncodingWarning"), since=(3, 10)),
    Case("python -m cProfile", command=("$PYTHON", "-m", "cProfile", "-o", "profile", "$PROGRAMS/job.py")),
    Case("python -m trace", command=("$PYTHON", "-m", "trace", "--count", "--coverdir", ".", "$PROGRAMS/busy.py"), leaves=r"\.cover$"),
    Case("python -m pdb", command=("$PYTHON", "-m", "pdb", "-c", "continue", "$PROGRAMS/job.py"), stdin=b"quit\n"),
    # Before Python 3.10 a later instance of atexit, here the prompt's, replaces the probe's. The probe
    # notices that at its next look, which is too late for a program that ends at once.
    Case("python -i", flags=("-i",), stdin=b"print(6 * 7)\n", leaves=r"run/vramscope/\w+-\d+\.sock$"),
    Case("python -m unittest", command=("$PYTHON", "-m", "unittest", "tested"), normalise=((r"in [0-9.]+s", "in"),)),
    Case("PYTHONMALLOC=debug", environ={"PYTHONMALLOC": "debug"}),
    Case("PYTHONMALLOC=malloc", environ={"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165", "MALLOC_ARENA_MAX": "1"}),
    Case("PYTHONDEVMODE", environ={"PYTHONDEVMODE": "1", "PYTHONASYNCIODEBUG": "1", "PYTHONHASHSEED": "1"}),
    Case("PYTHONSAFEPATH", environ={"PYTHONSAFEPATH": "1"}),
    Case("PYTHONPATH with an empty entry", environ={"PYTHONPATH": "::$PROGRAMS:$STAND_IN:"}),
    Case("bytecode is written", environ={"PYTHONDONTWRITEBYTECODE": None, "PYTHONPYCACHEPREFIX": "$WORK/cache"}, leaves="^work/cache/"),
    Case("locale C", environ={"LANG": None, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
    Case("locale POSIX, UTF-16 output", environ={"LC_ALL": "POSIX", "PYTHONIOENCODING": "utf-16"}),
    Case("EBCDIC output", environ={"PYTHONIOENCODING": "cp037"}),
    Case("locale unknown", environ={"LC_ALL": "tlh_QO.KOI8-R"}),
    Case("script of umlauts", shell='cp "$PROGRAMS/job.py" "jöb 💩.py"', command=("$PYTHON", "jöb 💩.py")),
    Case("script not UTF-8", shell='n=$(printf "j\\366b.py"); cp "$PROGRAMS/job.py" "$n"; exec "$@" "$n"', command=("$PYTHON",)),
    Case("directory of strange characters", shell="d=\"$(printf 'a b\\n\\t'\\''\"%%$é')\"; mkdir \"$d\"; cd \"$d\"; cp \"$PROGRAMS/job.py\" .",
         command=("$PYTHON", "job.py")),
    Case("interpreter line", shell='printf "#!%s\\nimport job\\n" "$PYTHON" > job; chmod +x job', command=("./job",)),
    Case("zipapp", shell='mkdir z; cp "$PROGRAMS/job.py" z/__main__.py; "$PYTHON" -m zipapp z', command=("$PYTHON", "z.pyz")),
    Case("venv", shell='"$PYTHON" -m venv --without-pip v', command=("v/bin/python", "$PROGRAMS/job.py")),
    Case("virtualenv", shell='"$PYTHON" -m virtualenv -q --no-seed v', command=("v/bin/python", "$PROGRAMS/job.py"), needs=("virtualenv",),
         leaves="^home/.local"),
    Case("own sitecustomize", shell="echo 'print(\"own sitecustomize\")' > sitecustomize.py",
         environ={"PYTHONPATH": "$WORK:$PROGRAMS:$STAND_IN"}),
    Case("own sitecustomize fails", shell="echo '1 / 0' > sitecustomize.py", environ={"PYTHONPATH": "$WORK:$PROGRAMS:$STAND_IN"}),
    Case("own usercustomize", shell='d=$("$PYTHON" -m site --user-site); mkdir -p "$d"; echo "print(1)" > "$d/usercustomize.py"'),
    Case("own .pth file", shell='d=$("$PYTHON" -m site --user-site); mkdir -p "$d"; echo "import sys; sys.pth = 1; print(2)" > "$d/own.pth"'),
]
