"""Brings the vramscope probe into a Python program that `vramscope run` starts.

Python imports only the first sitecustomize that it finds. So this one finds and
runs the one that it hides, which does and fails as it would have.
"""

import os
import sys


class _Loader(type(__loader__)):
    """Names the probe's code so that coverage and trace do not count it as the program's."""

    def get_code(self, name):
        import _imp

        code = super().get_code(name)
        _imp._fix_co_filename(code, "<vramscope_probe>")
        return code


def _load():
    module = type(sys)("vramscope_probe")
    module.__file__ = os.path.join(os.path.dirname(__file__), "vramscope_probe.py")
    sys.modules["vramscope_probe"] = module
    try:
        _Loader("vramscope_probe", module.__file__).exec_module(module)
        module._agent.started_by = "run"  # monitors see it in hello
    except BaseException:
        del sys.modules["vramscope_probe"]
        raise


def _is_first():
    """Whether this is the process's first interpreter. Others may end before the process, and
    Python aborts where one still has a thread."""
    import _signal

    try:
        _signal.set_wakeup_fd(-1)  # which it is at the start; other interpreters may not set it
    except ValueError:
        return False
    return True


try:
    if "vramscope_probe" not in sys.modules and _is_first():
        _load()
except Exception:
    pass  # no failure of the probe reaches the program


def _other():
    """Runs the sitecustomize that ours hides, as if it had been found first."""
    import importlib.util

    # Ours may be on the path twice, say from a container image and from `vramscope
    # run`. Each skips itself and those before it.
    skipped = sys.__dict__.setdefault("_vramscope_passed", [])
    skipped.append(os.path.dirname(os.path.realpath(__file__)))
    shown = list(sys.path)
    try:
        sys.path[:] = [entry for entry in shown if os.path.realpath(entry) not in skipped]
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
