"""An import finder finds modules that are in no file."""

import importlib.abc
import importlib.machinery
import sys

import zoo


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.startswith("made_"):
            return importlib.machinery.ModuleSpec(name, self)
        return None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.value = len(module.__name__)


sys.meta_path.insert(0, Finder())
number = 0


def step():
    global number
    number += 1
    assert __import__("made_%d" % number).value == len("made_%d" % number)


zoo.busy(step)
print(number > 0, [type(f).__name__ if not isinstance(f, type) else f.__name__ for f in sys.meta_path if "zoo" in repr(f) or "Finder" in repr(f)])
zoo.end()
