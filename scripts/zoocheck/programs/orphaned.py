"""The main thread ends, and another thread continues."""

import threading

import zoo


def run():
    threading.main_thread().join()
    zoo.busy(zoo.work)
    zoo.end()


zoo.use()
threading.Thread(target=run).start()
