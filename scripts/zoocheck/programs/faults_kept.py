"""Handles faults, beside a thread that blocks all signals and waits, as CUDA's threads do."""

import faulthandler
import signal
import threading

import zoo


def wait():
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while not zoo.going():
        zoo.time.sleep(0.05)


faulthandler.enable()
zoo.use()
thread = threading.Thread(target=wait)
thread.start()
zoo.busy(zoo.work)
thread.join()
print(faulthandler.is_enabled())
zoo.end()
