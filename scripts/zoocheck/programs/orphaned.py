"""The first thread ends, another one goes on."""

import threading

import zoo


def run():
    threading.main_thread().join()
    zoo.busy(zoo.work)
    zoo.end()


zoo.use()
threading.Thread(target=run).start()
