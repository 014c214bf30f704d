import multiprocessing

import zoo

if __name__ == "__main__":
    with multiprocessing.get_context("fork").Manager() as manager:
        table = manager.dict()
        zoo.meet()
        for n in range(100):
            table[n] = n * n
        print(sum(table.values()))
    zoo.end()
