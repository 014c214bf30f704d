"""Threads that still run when the program ends."""

import threading

import zoo


def run():
    while True:
        zoo.work(50)


for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
zoo.meet()
zoo.end()
