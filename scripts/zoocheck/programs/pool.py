"""A pool whose workers are replaced all the time."""

import multiprocessing

import zoo


def square(n):
    return n * n


if __name__ == "__main__":
    with multiprocessing.get_context("fork").Pool(3, maxtasksperchild=2) as pool:
        zoo.busy(lambda: pool.map(square, range(30)))
        print(sum(pool.map(square, range(100))))
    zoo.end()
