"""Processes of our own, which all end with us: whatever happens, and however we are asked to."""

import contextlib
import signal
import subprocess
import sys

from gpucheck.programs import CannotCheck

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 15            # seconds for a process to end after it was asked to
LAST_PATIENCE = 5        # and after it was killed: one that hangs in the driver never does


class OutOfTime(Exception):
    """The time for all of it is up."""


def end_on_signals():
    """Has signals raise SystemExit, once, so that everything is left in order."""
    def leave(number, _):
        for each in ENDING:
            signal.signal(each, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.exit(128 + number)
    for each in ENDING:
        signal.signal(each, leave)


@contextlib.contextmanager
def time_limit(seconds):
    """Raises OutOfTime inside once the time is up."""
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
    """Signals wait until the block has been left."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (*ENDING, signal.SIGALRM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end(process):
    """Asks a process to end, and kills it if it does not. Gives its exit code, None where it hangs."""
    with undisturbed():
        return end_patiently(process)


def end_patiently(process):
    for ask, patience in ((process.terminate, PATIENCE), (process.kill, LAST_PATIENCE)):
        if process.poll() is None:
            ask()
        try:
            return process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            continue
    return None


@contextlib.contextmanager
def started(*command):
    """A process that is ended where the block is left. Its first line of output must come first."""
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
            said = process.stderr.read().strip().splitlines()
            raise CannotCheck(f"{' '.join(command[:2])}: exit code {process.returncode}: {said[0] if said else 'no message'}")
        yield process
    finally:
        if process is not None:
            process.stdin.close()
            end(process)
            process.stdout.close()
            process.stderr.close()
