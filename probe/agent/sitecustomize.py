"""Brings the vramscope probe into a Python program that `vramscope run` starts.

Python imports the first sitecustomize that it finds, and only that one. So the
one that would have been imported without us is found and run here, in our
place: what it does and how it fails stays as it was.
"""

import os
import sys

try:
    import vramscope_probe

    # Importing it is all; it tells monitors how it came.
    vramscope_probe._agent.started_by = "run"
except Exception:
    pass  # the program must not notice


def _other():
    """The sitecustomize that ours hides, loaded as if it had been found first."""
    import importlib.util

    # Ours may be there twice: from an image's environment and from `vramscope
    # run`, say. Each passes over itself and those before it.
    passed = sys.__dict__.setdefault("_vramscope_passed", [])
    passed.append(os.path.dirname(os.path.realpath(__file__)))
    shown = list(sys.path)
    try:
        sys.path[:] = [entry for entry in shown if os.path.realpath(entry) not in passed]
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            spec = find("sitecustomize", None) if find is not None else None
            if spec is not None and spec.loader is not None:
                break
        else:
            return
    finally:
        sys.path[:] = shown
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _other()
finally:
    sys.__dict__.pop("_vramscope_passed", None)
