"""multiprocessing: three processes use the GPU."""

import multiprocessing
import sys

import zoo


def child(queue, number):
    zoo.meet()
    zoo.end()
    queue.put(number)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.Queue()
    every = [context.Process(target=child, args=(queue, n)) for n in range(3)]
    for process in every:
        process.start()
    print(sorted(queue.get() for _ in every))
    for process in every:
        process.join()
    print([process.exitcode for process in every])
