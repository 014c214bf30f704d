import sys

import zoo

sys.setrecursionlimit(5000)


def down(n):
    if n:
        return 1 + down(n - 1)
    zoo.busy(zoo.work)
    return 0


print(down(4000))
zoo.end()
