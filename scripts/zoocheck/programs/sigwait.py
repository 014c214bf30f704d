"""A thread waits for the signals that all others block."""

import os
import signal
import threading

import zoo

NUMBERS = {signal.SIGUSR1, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
got = []


def wait():
    while True:
        got.append(signal.sigwait(NUMBERS))
        if got[-1] == signal.SIGTERM:
            return


thread = threading.Thread(target=wait)
thread.start()
sent = 0


def step():
    global sent
    os.kill(os.getpid(), signal.SIGUSR1)
    sent += 1
    while len(got) < sent:
        zoo.time.sleep(0.001)


zoo.busy(step)
os.kill(os.getpid(), signal.SIGTERM)
thread.join()
print(len(got) == sent + 1, sorted(set(got)))
zoo.end()
