"""Programs that do something all the time, for a probe to be attached to.

    python3 targets.py NAME FILE

Each counts in FILE (one number, rewritten) what it has got done, so that one
sees that it goes on. A line on standard input, or its end, has it check what it
has computed and say "done".
"""

import asyncio
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import threading
import time


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


def asked():
    return bool(select.select([sys.stdin], [], [], 0)[0])


def work(n):
    """Churns the heap and says whether all came out as it should."""
    table = {i: [str(i)] * (i % 7) for i in range(n)}
    return sum(len(v) for v in table.values()) == sum(i % 7 for i in range(n))


def churn(step):
    good = True
    while not asked():
        good &= work(500)
        step()
    return good


def compute(step):
    # No system call in a long while, nothing but the interpreter.
    good = True
    while not asked():
        total = 0
        for i in range(300000):
            total += i & 3
        good &= total == 450000
        step()
    return good


def sleeping(step):
    while not asked():
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
    while not asked():
        time.sleep(0.001)
        step()
    end.set()
    for t in every:
        t.join()
    return all(good)


def joined(step):
    """The first thread waits for a lock for good; another one works."""
    good = []

    def run():
        while not asked():
            good.append(work(200))
            step()

    t = threading.Thread(target=run)
    t.start()
    t.join()
    return all(good)


def orphaned(step):
    """The first thread ends; another one works on, which Python waits for."""

    def run():
        threading.main_thread().join()
        good = True
        while not asked():
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
    while not asked():
        child = os.fork()
        if not child:
            os._exit(0 if work(50) else 1)
        good &= os.waitpid(child, 0)[1] == 0
        step()
    return good


def children(step):
    good = True
    while not asked():
        good &= subprocess.run(["/bin/echo", "x"], stdout=subprocess.PIPE).stdout == b"x\n"
        step()
    return good


def loop(step):
    async def one():
        while not asked():
            await asyncio.sleep(0.001)
            step()

    async def every():
        await asyncio.gather(*[one() for _ in range(20)])

    asyncio.run(every())
    return True


def signals(step):
    """A handler that runs two thousand times a second, in the middle of it all."""
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
    good = churn(step)
    signal.setitimer(signal.ITIMER_REAL, 0)
    return good and len(seen) > 0


def derive(step):
    """One call of C code without the GIL that lasts for minutes."""
    import hashlib

    step()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 400_000_000)
    return True


def power(step):
    """One call of C code with the GIL that lasts for minutes."""
    step()
    3 ** 300_000_000
    return True


if __name__ == "__main__":
    fine = globals()[sys.argv[1]](counting(sys.argv[2]))
    if fine is not None:
        print("done" if fine else "wrong", flush=True)
