import threading

import zoo

end = threading.Event()


def run():
    while not end.is_set():
        zoo.work()


every = [threading.Thread(target=run) for _ in range(4)]
for thread in every:
    thread.start()
zoo.busy(zoo.work)
end.set()
for thread in every:
    thread.join()
zoo.end()
