"""concurrent.futures: two workers use the GPU. The first process does not."""

import concurrent.futures
import multiprocessing
import os
import sys
import time

import zoo


def job(n):
    if not zoo._held:
        zoo.meet()
        zoo.end()
    time.sleep(0.2)
    return n, os.getpid()


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        done = list(pool.map(job, range(12)))
    print([n for n, _ in done], len({pid for _, pid in done}))
