"""Counts the calls of the program's own function, in all threads."""

import sys
import threading

import zoo

count, files = 0, set()


def own():
    zoo.work(5)


def trace(frame, event, _):
    global count
    if event == "call":
        files.add(frame.f_code.co_filename)
        count += frame.f_code is own.__code__
    return None


zoo.use()
getattr(threading, sys.argv[1])(trace)
getattr(sys, sys.argv[1])(trace)
zoo.ready()
made = 0
while not zoo.going():
    own()
    made += 1
thread = threading.Thread(target=own)
thread.start()
thread.join()
getattr(sys, sys.argv[1])(None)
print(count == made + 1, [name for name in files if "vramscope" in name])
zoo.end()
