"""Replaces __import__, as lazy importers do."""

import builtins

import zoo

zoo.use()
real, names = builtins.__import__, []


def own(name, *arguments, **more):
    names.append(name)
    return real(name, *arguments, **more)


builtins.__import__ = own
zoo.meet()
import colorsys  # noqa: E402, F401

print("colorsys" in names, builtins.__import__ is own)
zoo.end()
