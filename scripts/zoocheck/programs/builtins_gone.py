"""Replaces builtins, as sandboxes do."""

import builtins
import os

import zoo

zoo.use()
zoo.ready()
kept = {name: getattr(builtins, name) for name in ("open", "compile", "print", "len", "range", "isinstance")}
place = zoo._place(0) + ".go"
while True:
    for name in kept:
        setattr(builtins, name, None)
    try:
        os.stat(place)
        break
    except FileNotFoundError:
        zoo.time.sleep(0.05)
for name, value in kept.items():
    setattr(builtins, name, value)
zoo.end()
