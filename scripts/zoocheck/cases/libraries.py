"""Servers, workers and libraries of PyPI."""

from zoocheck.case import ABRUPT, Case

LOGGED = ((r"\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[ ,0-9+]*\]?", "TIME"), (r"[\[(#]\d+[\])]", "[PID]"), (r"\d+\.\d+s\b", "SECONDS"))
# These end without Python's atexit: uvicorn by SIGTERM, celery's processes by os._exit.
SERVER = {"script": "serve.py", "unordered": True, "normalise": LOGGED, "leaves": ABRUPT}
WORKER = {"script": "work.py", "unordered": True, "normalise": LOGGED, "leaves": ABRUPT}

CASES = [
    Case("gunicorn", arguments=("gunicorn", "sync"), needs=("gunicorn",), **SERVER),
    Case("gunicorn gthread", arguments=("gunicorn", "gthread"), needs=("gunicorn",), **SERVER),
    Case("gunicorn gevent", arguments=("gunicorn", "gevent"), needs=("gunicorn", "gevent"), **SERVER),
    Case("gunicorn eventlet", arguments=("gunicorn", "eventlet"), needs=("gunicorn", "eventlet"), until=(3, 9), **SERVER),
    Case("uvicorn", arguments=("uvicorn", "asyncio"), needs=("uvicorn",), **SERVER),
    Case("uvicorn uvloop", arguments=("uvicorn", "uvloop"), needs=("uvicorn", "uvloop"), **SERVER),
    Case("celery prefork", arguments=("prefork",), needs=("celery",), **WORKER),
    Case("celery threads", arguments=("threads",), needs=("celery",), **WORKER),
    Case("celery gevent", arguments=("gevent",), needs=("celery", "gevent"), **WORKER),
    Case("ipykernel", script="kernel.py", needs=("ipykernel",)),
    Case("gevent, patched first", script="greens.py", arguments=("gevent", "early"), needs=("gevent",)),
    Case("gevent, patched late", script="greens.py", arguments=("gevent", "late"), needs=("gevent",)),
    Case("eventlet, patched first", script="greens.py", arguments=("eventlet", "early"), needs=("eventlet",)),
    Case("eventlet, patched late", script="greens.py", arguments=("eventlet", "late"), needs=("eventlet",)),
    Case("asyncio", script="loop.py"),
    Case("asyncio debug", script="loop.py", flags=("-X", "dev"), environ={"PYTHONASYNCIODEBUG": "1"}),
    Case("uvloop", script="loop.py", arguments=("uvloop",), needs=("uvloop",)),
    Case("numpy", script="arrays.py", needs=("numpy",)),
]
