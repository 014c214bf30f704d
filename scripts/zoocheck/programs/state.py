"""Prints what a program can ask the interpreter about itself."""

import gc
import locale
import multiprocessing
import os
import signal
import sys
import threading
import warnings

import zoo

zoo.meet()
for value in (
    threading.active_count(), [t.name for t in threading.enumerate()], threading.stack_size(), len(threading._active),
    [signal.getsignal(n) for n in range(1, 65) if n not in (32, 33)], signal.getitimer(signal.ITIMER_REAL), sorted(signal.sigpending()),
    sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), signal.set_wakeup_fd(-1),
    gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_debug(), gc.get_freeze_count(), gc.garbage,
    sys.gettrace(), sys.getprofile(), sys.getswitchinterval(), sys.getrecursionlimit(), sys.flags, sys.warnoptions, sys._xoptions,
    sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.unraisablehook is sys.__unraisablehook__,
    sys.stdout is sys.__stdout__, sys.stdin is sys.__stdin__, sys.argv, sys.exc_info(), sys.path_hooks is not None,
    sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth(), len(sys._current_frames()) >= 1, sys.dont_write_bytecode,
    getattr(threading.excepthook, "__name__", None), warnings.filters, warnings.showwarning.__name__,
    locale.setlocale(locale.LC_ALL), os.getcwd() != "", multiprocessing.active_children(), os.sched_getaffinity(0) != set(),
    [os.waitstatus_to_exitcode(0)] if hasattr(os, "waitstatus_to_exitcode") else [], getattr(sys, "last_value", None),
    [name for name in dir(sys.modules["builtins"]) if "vramscope" in name],
):
    print(value)
zoo.end()
