"""C code computes without the GIL, on a second thread (beside) or for a long time on the main thread (alone)."""

import hashlib
import sys
import threading

import zoo


def compute(rounds):
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", rounds)


zoo.use()
if sys.argv[1] == "alone":
    zoo.busy(lambda: compute(30_000_000))
else:
    done = []
    thread = threading.Thread(target=lambda: [compute(100_000) for _ in iter(lambda: bool(done), True)])
    thread.start()
    zoo.meet()
    done.append(True)
    thread.join()
zoo.end()
