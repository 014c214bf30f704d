import multiprocessing
from multiprocessing import shared_memory

import zoo


def fill(name):
    memory = shared_memory.SharedMemory(name)
    memory.buf[:1000] = b"x" * 1000
    memory.close()


if __name__ == "__main__":
    memory = shared_memory.SharedMemory(create=True, size=1000)
    zoo.meet()
    process = multiprocessing.get_context("fork").Process(target=fill, args=(memory.name,))
    process.start()
    process.join()
    print(bytes(memory.buf[:1000]) == b"x" * 1000)
    memory.close()
    memory.unlink()
    zoo.end()
