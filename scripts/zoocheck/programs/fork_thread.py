"""A thread forks, while the main thread computes."""

import os
import threading

import zoo

results = []


def forks():
    while not zoo.going():
        pid = os.fork()
        if not pid:
            zoo.work(50)
            os._exit(5)
        results.append(os.waitpid(pid, 0)[1])


zoo.use()
thread = threading.Thread(target=forks)
thread.start()
zoo.busy(zoo.work)
thread.join()
print(set(results))
zoo.end()
