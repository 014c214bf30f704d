import sys

import zoo

first = sys.stdin.readline()
zoo.meet()
print(repr(first), len(sys.stdin.read()))
zoo.end()
