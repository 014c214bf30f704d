import threading

import zoo


def step():
    every = [threading.Thread(target=zoo.work, args=(20,)) for _ in range(8)]
    for thread in every:
        thread.start()
    for thread in every:
        thread.join()


zoo.busy(step)
zoo.end()
