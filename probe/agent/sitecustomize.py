"""Brings the vramscope probe into a Python program that `vramscope run` starts.

The probe itself, vramscope_probe.py beside this file, is loaded only when the program imports a GPU
library or the probe, because compiling it takes longer than Python's own start. This file keeps
what the probe must know about the program's start. Python imports only the first sitecustomize
that it finds, so this file finds and runs the one that it hides.
"""

import sys


def _install(directory):
    """Puts a finder in front of the others. Everything is local: module globals are gone while the
    interpreter ends, and tracers see the file name of this function's code as <vramscope_probe>."""
    import _frozen_importlib_external as external
    import _imp
    import _thread
    import posix
    import time

    packages = frozenset(("cupy", "jax", "rmm", "tensorflow", "torch"))
    probe, path = "vramscope_probe", directory + "/vramscope_probe.py"
    loading = _thread.allocate_lock()
    modules = sys.modules

    def status():
        file = posix.open("/proc/thread-self/status", posix.O_RDONLY | posix.O_CLOEXEC)
        try:
            return posix.read(file, 1 << 16)
        finally:
            posix.close(file)

    def filters(status):
        return [line for line in status.splitlines() if line.startswith(b"Seccomp")]

    # The program may replace these functions later, and install seccomp filters.
    start = {
        "_thread.start_new_thread": _thread.start_new_thread,
        "_thread.allocate_lock": _thread.allocate_lock,
        "_thread.get_ident": _thread.get_ident,
        "time.clock_gettime": time.clock_gettime,
        "time.clock_gettime_ns": time.clock_gettime_ns,
        "VRAMSCOPE_SECCOMP_FILTERS": posix.environ.get(b"VRAMSCOPE_SECCOMP_FILTERS"),
    }
    try:
        start["status"] = status()
    except OSError:
        start["status"] = None

    class Loader(external.SourceFileLoader):
        def get_code(self, name):
            # Coverage and trace would count the file as the program's.
            code = super().get_code(name)
            _imp._fix_co_filename(code, "<vramscope_probe>")
            return code

        def set_data(self, *arguments, **options):
            # A seccomp filter may kill the program for the system calls that write the bytecode.
            try:
                unfiltered = start["status"] is not None and filters(status()) == filters(start["status"])
            except OSError:
                return
            if unfiltered:
                super().set_data(*arguments, **options)

        def exec_module(self, module):
            module._started_by, module._at_start = "run", start
            super().exec_module(module)

    class Finder:
        """Finds the probe, and loads it when a GPU library's first submodule is imported: a
        package alone may be looked up without being imported (importlib.util.find_spec)."""

        @staticmethod
        def find_spec(name, where=None, target=None):
            if name == probe:
                return external.spec_from_file_location(probe, path, loader=Loader(probe, path))
            if where is not None and name.partition(".")[0] in packages:
                load()
            return None

    def load():
        """Loads the probe, once. It does not wait for the lock: a child that was forked meanwhile would wait for ever."""
        if probe not in modules and loading.acquire(False):
            try:
                __import__(probe)
            except Exception:
                pass  # no failure of the probe reaches the program

    sys.meta_path.insert(0, Finder)
    if not packages.isdisjoint(modules):
        load()


def _is_first():
    """Returns whether this is the process's first interpreter. Another one may end before the
    process, and Python aborts if it still has a thread then."""
    import _signal

    try:
        _signal.set_wakeup_fd(-1)  # the value at the start; only the first interpreter may set it
    except ValueError:
        return False
    return True


def _begin():
    import _imp

    if "vramscope_probe" in sys.modules or any(getattr(f, "__qualname__", "") == "_install.<locals>.Finder" for f in sys.meta_path):
        return
    if _is_first():
        _imp._fix_co_filename(_install.__code__, "<vramscope_probe>")
        _install(__file__.rpartition("/")[0])


try:
    _begin()
except Exception:
    pass  # no failure of the probe reaches the program


def _other():
    """Runs the sitecustomize that ours hides, as if it had been found first."""
    import _frozen_importlib
    import os

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
    module = _frozen_importlib.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


try:
    _other()
finally:
    sys.__dict__.pop("_vramscope_passed", None)
