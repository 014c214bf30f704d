"""C code with and without the GIL, on large arrays."""

import numpy

import zoo

a = numpy.arange(90000, dtype=float).reshape(300, 300)
expected = (a @ a).sum()


def step():
    assert numpy.isclose((a @ a).sum(), expected)
    assert numpy.sort(a, axis=None)[-1] == 89999


zoo.busy(step)
zoo.end()
