"""Child processes that end with this process, even if a signal of ENDING ends it."""

import contextlib
import signal
import subprocess
import sys

from gpucheck.programs import CannotCheck

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
TERMINATE_TIMEOUT = 15   # seconds
KILL_TIMEOUT = 5         # seconds; a process that hangs in the driver never ends


class OutOfTime(Exception):
    """A time limit has passed."""


def end_on_signals():
    """Makes the first of the ENDING signals raise SystemExit, so that everything is cleaned up."""
    def leave(number, _):
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.exit(128 + number)
    for each in ENDING:
        signal.signal(each, leave)


@contextlib.contextmanager
def time_limit(seconds):
    """Raises OutOfTime in the block after that many seconds."""
    def late(*_):
        raise OutOfTime(f"not done after {seconds} s")
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def undisturbed():
    """Blocks signals during the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDING, signal.SIGALRM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end(process):
    """Terminates a process, and kills it after a timeout. Returns its exit code, or None if it hangs."""
    with undisturbed():
        for ask, timeout in ((process.terminate, TERMINATE_TIMEOUT), (process.kill, KILL_TIMEOUT)):
            if process.poll() is None:
                ask()
            try:
                return process.wait(timeout=timeout)
            except subprocess.TimeoutExpired:
                continue
    return None


@contextlib.contextmanager
def started(*command):
    """A process that runs during the block, which begins after the process's first line of output."""
    process = None
    try:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
        except OSError as problem:
            raise CannotCheck(f"{command[0]}: {problem.strerror}") from problem
        process.first_line = process.stdout.readline().strip()
        if not process.first_line:
            end(process)
            errors = process.stderr.read().strip().splitlines()
            raise CannotCheck(f"{' '.join(command[:2])}: exit code {process.returncode}: {errors[0] if errors else 'no message'}")
        yield process
    finally:
        if process is not None:
            process.stdin.close()
            end(process)
            process.stdout.close()
            process.stderr.close()
