"""Iterates over collections that a new import, thread or object would change, and notices changes."""

import gc
import os
import sys
import threading
import time
import traceback

import zoo


def modules():
    for _ in range(50):
        for name, module in sys.modules.items():
            getattr(module, "__file__", None)


def reloads():
    """Looks at all modules' files every 20 ms, as a program that reloads changed files does."""
    for module in sys.modules.values():
        try:
            os.stat(module.__file__)
        except (AttributeError, TypeError, OSError):
            pass  # built in
    time.sleep(0.02)


def objects():
    for one in gc.get_objects():
        isinstance(one, threading.Thread)
        if type(one) in (dict, set, list):
            for _ in one:
                pass


def threads():
    for thread in threading.enumerate():
        assert thread.ident in threading._active
    for frame in sys._current_frames().values():
        traceback.extract_stack(frame)


def seen():
    return [set(every) for every in (sys.modules, vars(sys), sys.path_importer_cache, threading._active)]


step = globals()[sys.argv[1]]
zoo.use()
step()
before = seen()
zoo.busy(step)
print([sorted(map(str, now - then)) for then, now in zip(before, seen())])
zoo.end()
