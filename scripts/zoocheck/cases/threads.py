"""Threads, signals, and how a program ends."""

from zoocheck.case import ABRUPT, Case

# flush: a probe that gdb has started cannot start another thread; fixed in Python 3.12.3,
# https://github.com/python/cpython/issues/113964. attach: sys.remote_exec needs the main thread.
MAIN_ENDED = {"flush": ("main thread has ended", (3, 12, 0), (3, 12, 2)), "attach": ("Can't find the main thread", (3, 14, 0), (3, 99))}

CASES = [
    Case("busy", script="busy.py"),
    Case("threads", script="threads.py"),
    Case("many threads", script="many_threads.py"),
    Case("main thread has ended", script="orphaned.py", refused=MAIN_ENDED),
    Case("daemon threads", script="daemon_threads.py"),
    Case("short-lived threads", script="short_threads.py"),
    Case("small thread stacks", script="stack_size.py"),
    Case("thread of C", script="foreign_thread.py"),
    Case("state of the interpreter", script="state.py"),
    Case("1000 alarms a second", script="alarms.py"),
    Case("SIGCHLD handler", script="sigchld.py"),
    Case("sigwait", script="sigwait.py"),
    Case("signalfd", script="signalfd.py"),
    Case("set_wakeup_fd", script="wakeup.py"),
    Case("all signals blocked", script="blocked.py"),
    Case("all signals ignored", shell="trap '' HUP INT QUIT TERM USR1 USR2 PIPE ALRM CHLD"),
    Case("interrupted system calls", script="interrupted.py"),
    Case("faulthandler", script="faults.py"),
    Case("faulthandler, a thread blocks all signals", script="faults_kept.py"),
    Case("deep recursion", script="recursion.py"),
    Case("atexit", script="at_exit.py"),
    Case("sys.exit", script="ends.py", arguments=("exit",), exit=3),
    Case("exception", script="ends.py", arguments=("raise",), exit=1),
    Case("KeyboardInterrupt", script="ends.py", arguments=("interrupt",), exit=-2, normalise=((r"^  File .*|^    .*", "DROP"),)),
    Case("os._exit", script="ends.py", arguments=("_exit",), exit=7, leaves=ABRUPT),
    Case("abort", script="ends.py", arguments=("abort",), exit=-6, leaves=ABRUPT, shell="ulimit -c 0"),
    Case("crash", script="ends.py", arguments=("crash",), exit=-11, leaves=ABRUPT, shell="ulimit -c 0"),
    Case("SIGTERM", script="ends.py", arguments=("term",), exit=-15, leaves=ABRUPT),
    Case("SIGKILL", script="ends.py", arguments=("kill",), exit=-9, leaves=ABRUPT),
    Case("ends at once after the flush", script="ends.py", arguments=("none",)),
    Case("C holds the GIL .9 s at a time", script="holds.py", arguments=("0.9",), refused={"flush": "does not answer|no valid answer"}),
    Case("C holds the GIL", script="holds.py", arguments=("40",), refused={"run": "no turn", "attach": "C code holds the interpreter|did not answer", "flush": "does not answer|no probe"},
         normalise=((r"^descriptor DIR/run.*", "DROP"),)),
    Case("C without the GIL", script="releases.py", arguments=("beside",)),
    Case("C without the GIL, alone", script="releases.py", arguments=("alone",), refused={"attach": "blocked in C"}),
]
