"""Functions that run at the program's end use the library, and run in their order."""

import atexit
import threading
import weakref

import zoo


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "finalized")
atexit.register(lambda: print("last"))
atexit.register(zoo.end)
atexit.register(lambda: zoo.work(20))
threading.Thread(target=lambda: zoo.time.sleep(0.2)).start()
zoo.meet()
atexit.register(lambda: print("first"))
