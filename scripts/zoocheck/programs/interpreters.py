"""Sub-interpreters come and go, as in mod_wsgi."""

import _xxsubinterpreters as interpreters

import zoo

count = 0


def step():
    global count
    own = interpreters.create()
    interpreters.run_string(own, "import json, threading; assert json.loads('[1]') == [1]")
    interpreters.destroy(own)
    count += 1


zoo.busy(step)
print(count > 0)
zoo.end()
