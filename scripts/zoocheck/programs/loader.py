"""Works like PyTorch's DataLoader: workers fill shared memory, a thread fetches, and the first process uses the GPU."""

import multiprocessing
import queue
import sys
import threading

import zoo

SIZE = 1 << 16


def worker(memory, indices, batches):
    for index in iter(indices.get, None):
        memory[:] = bytes([index % 251]) * SIZE
        batches.put(index)


def fetch(memories, batches, fetched):
    for index in iter(batches.get, None):
        fetched.put(bytes(memories[index % 2]) == bytes([index % 251]) * SIZE)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    memories = [context.RawArray("B", SIZE) for _ in range(2)]
    indices, batches, fetched = [context.Queue() for _ in range(2)], context.Queue(), queue.Queue()
    workers = [context.Process(target=worker, args=(memories[n], indices[n], batches)) for n in range(2)]
    for process in workers:
        process.start()
    thread = threading.Thread(target=fetch, args=(memories, batches, fetched))
    thread.start()
    count = 0

    def step():
        global count
        for n in range(2):
            indices[n].put(count)
            count += 1
        assert all(fetched.get() for _ in range(2))

    zoo.busy(step)
    for each in indices + [batches]:
        each.put(None)
    for process in workers:
        process.join()
    thread.join()
    print([process.exitcode for process in workers])
    zoo.end()
