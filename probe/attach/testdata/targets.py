"""Busy programs for a probe to be attached to.

    python3 targets.py NAME FILE

Each writes its number of steps to FILE, as proof that it continues. After a line on
standard input, or the end of standard input (locked: a signal; derive and power: minutes),
it checks its results and prints "done".
"""

import asyncio
import errno
import gc
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback


def counting(path):
    with open(path, "wb") as file:
        file.write(bytes(8))
    with open(path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 8)
    count = 0

    def step():
        nonlocal count
        count += 1
        page[:8] = struct.pack("<q", count)

    return step


def ending():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def work(n):
    """Uses the heap, and returns whether the result is right."""
    table = {i: [str(i)] * (i % 7) for i in range(n)}
    return sum(len(v) for v in table.values()) == sum(i % 7 for i in range(n))


def churn(step):
    good = True
    while not ending():
        good &= work(500)
        step()
    return good


def compute(step):
    # Few system calls: almost only the interpreter.
    good = True
    while not ending():
        total = 0
        for i in range(300000):
            total += i & 3
        good &= total == 450000
        step()
    return good


def sleeping(step):
    while not ending():
        time.sleep(0.003)
        step()
    return True


def selecting(step):
    while not select.select([sys.stdin], [], [], 0.002)[0]:
        step()
    return True


def reading(step):
    step()
    sys.stdin.readline()
    return True


def threads(step):
    good, end = [], threading.Event()

    def run():
        while not end.is_set():
            good.append(work(100))

    every = [threading.Thread(target=run) for _ in range(6)]
    for t in every:
        t.start()
    while not ending():
        time.sleep(0.001)
        step()
    end.set()
    for t in every:
        t.join()
    return all(good)


def joined(step):
    """The first thread waits for a lock; another one works."""
    good = []

    def run():
        while not ending():
            good.append(work(200))
            step()

    t = threading.Thread(target=run)
    t.start()
    t.join()
    return all(good)


def orphaned(step):
    """The first thread exits; another one works on."""

    def run():
        threading.main_thread().join()
        good = True
        while not ending():
            good &= work(200)
            step()
        print("done" if good else "wrong", flush=True)

    threading.Thread(target=run).start()
    return None


def locked(step):
    """Waits for a lock and does nothing else; a signal ends it."""
    end = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: end.set())
    step()
    end.wait()
    return True


def forks(step):
    good = True
    while not ending():
        child = os.fork()
        if not child:
            os._exit(0 if work(50) else 1)
        good &= os.waitpid(child, 0)[1] == 0
        step()
    return good


def children(step):
    good = True
    while not ending():
        good &= subprocess.run(["/bin/echo", "x"], stdout=subprocess.PIPE).stdout == b"x\n"
        step()
    return good


def loop(step):
    async def one():
        while not ending():
            await asyncio.sleep(0.001)
            step()

    async def every():
        await asyncio.gather(*[one() for _ in range(20)])

    asyncio.run(every())
    return True


def signals(step):
    """A signal handler runs two thousand times a second."""
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    good = churn(step)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return good and len(seen) > 0


def unchanged(step):
    """Sleeps. The collections that other code may iterate over must stay the same."""

    def seen():
        return [set(every) for every in (sys.modules, vars(sys), sys.path_importer_cache, threading._active, vars(sys.modules["builtins"]))]

    before = seen()
    return sleeping(step) and seen() == before


def modules(step):
    """Iterates over the modules all the time."""
    while not ending():
        for _ in range(100):
            for name, module in sys.modules.items():
                getattr(module, "__file__", None)
        step()
    return True


def reloads(step):
    """Looks at the modules' files every 20 ms, as programs do that reload changed files."""
    while not ending():
        for module in sys.modules.values():
            try:
                os.stat(module.__file__)
            except (AttributeError, TypeError, OSError):
                pass  # built in
        time.sleep(0.02)
        step()
    return True


def objects(step):
    """Iterates over all containers that the garbage collector knows."""
    while not ending():
        for one in gc.get_objects():
            hasattr(one, "data") and isinstance(one, threading.Thread)
            if type(one) in (dict, set, list):
                for _ in one:
                    pass
        step()
    return True


def frames(step):
    """Iterates over all threads and their frames."""
    while not ending():
        for thread in threading.enumerate():
            thread.name, thread.ident in threading._active
        for frame in sys._current_frames().values():
            traceback.extract_stack(frame)
        step()
    return True


def derive(step):
    """One call of C code without the GIL that takes minutes."""
    import hashlib

    step()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 400_000_000)
    return True


def power(step):
    """One call of C code with the GIL that takes minutes."""
    step()
    3 ** 300_000_000
    return True


def filtered(step):
    """Sleeps with a seccomp filter. $FILTER is "main CALL", "thread CALL" or "later CALL": the
    filter is in the main thread, in another one, or in the main thread once FILE.install exists."""
    import seccomp

    who, call = os.environ["FILTER"].split()
    install = seccomp.prepare(call)
    end = threading.Event()
    if who == "main":
        install()
    elif who == "thread":
        ready = threading.Event()
        t = threading.Thread(target=lambda: (install(), ready.set(), end.wait()))
        t.start()
        ready.wait()
    good = True
    while not ending():
        time.sleep(0.003)
        if who == "later" and os.path.exists(sys.argv[2] + ".install"):
            who = install()
            os.remove(sys.argv[2] + ".install")
        step()
    end.set()
    return good


def alone(step):
    """Sleeps, and then makes a call that a process with several threads cannot make."""
    import ctypes

    CLONE_NEWUSER = 0x10000000
    sleeping(step)
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.unshare(CLONE_NEWUSER) == -1 and ctypes.get_errno() == errno.EINVAL


def full(step):
    """Sleeps with $FREE free file descriptors."""
    import resource

    limit = max(map(int, os.listdir("/proc/self/fd"))) + 1 + int(os.environ["FREE"])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        for _ in range(int(os.environ["FREE"])):
            os.close(taken.pop())
    return sleeping(step)


if __name__ == "__main__":
    fine = globals()[sys.argv[1]](counting(sys.argv[2]))
    if fine is not None:
        print("done" if fine else "wrong", flush=True)
