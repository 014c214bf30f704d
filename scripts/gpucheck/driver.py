"""What the driver says a process holds, read from NVML within a fraction of a millisecond.

nvidia-smi takes tens of milliseconds to start: too long to see how soon
memory that was given back shows. This reads the same figures through the same
library, in this process.
"""

import ctypes
import threading
import time

from gpucheck.programs import CannotCheck

INSUFFICIENT_SIZE = 7
REFUSED = (3, 4)         # NOT_SUPPORTED, NO_PERMISSION
NOT_AVAILABLE = (1 << 64) - 1
POLL_SECONDS = 0.001


class ProcessInfo(ctypes.Structure):
    """nvmlProcessInfo_v2_t of nvml.h, which the third version of the call fills too."""
    _fields_ = [("pid", ctypes.c_uint), ("used", ctypes.c_ulonglong),
                ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Memory(ctypes.Structure):
    """nvmlMemory_t."""
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Driver:
    """NVML's view of one GPU."""

    def __init__(self, uuid):
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError as problem:
            raise CannotCheck(str(problem)) from problem
        self.device = ctypes.c_void_p()
        self.call("nvmlInit_v2")
        self.call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self.device))
        versions = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
        self.listing = next((name for name in versions if hasattr(self.library, name)), None)
        if self.listing is None:
            raise CannotCheck("this driver's list of processes is of an older form")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise CannotCheck(f"{name}: NVML error {result}")

    def used_by(self, pid):
        """Bytes that a process holds; None where it is not listed, or its memory not told."""
        room = 64
        while True:
            count, infos = ctypes.c_uint(room), (ProcessInfo * room)()
            result = getattr(self.library, self.listing)(self.device, ctypes.byref(count), infos)
            if result != INSUFFICIENT_SIZE:
                break
            room = max(2 * room, count.value + 16)
        if result in REFUSED:
            return None
        if result != 0:
            raise CannotCheck(f"{self.listing}: NVML error {result}")
        told = [info.used for info in infos[:count.value] if info.pid == pid and info.used != NOT_AVAILABLE]
        return max(told, default=None)

    def used(self):
        """Bytes in use on the whole GPU."""
        memory = Memory()
        self.call("nvmlDeviceGetMemoryInfo", self.device, ctypes.byref(memory))
        return memory.used


class Holding:
    """What a process of ours holds by the driver.

    Where the driver does not list it (in many containers) that is what is used
    on the whole GPU more than before it started, so that everybody else's
    memory on it must stand still meanwhile.
    """

    def __init__(self, driver, whole_gpu):
        self.driver, self.whole_gpu, self.pid = driver, whole_gpu, None
        self.before = driver.used()

    def bytes(self):
        if self.whole_gpu:
            return self.driver.used() - self.before
        return self.driver.used_by(self.pid)


class Watch:
    """Every change of what a process holds, with the moment at which it showed, while the block runs."""

    def __init__(self, holding):
        self.holding, self.changes, self.failed = holding, [], None
        self.looks, self.began = 0, time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        try:
            while not self.ended.wait(POLL_SECONDS):
                held = self.holding.bytes()
                self.looks += 1
                if not self.changes or held != self.changes[-1][1]:
                    self.changes.append((time.monotonic(), held))
        except CannotCheck as problem:
            self.failed = problem

    def __enter__(self):
        self.thread.start()
        while not self.changes and not self.failed and self.thread.is_alive():
            time.sleep(POLL_SECONDS)
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join(timeout=5)

    def interval(self):
        """Seconds from one look to the next, on average: no moment is known better."""
        return (time.monotonic() - self.began) / max(self.looks, 1)

    def first_at_most(self, amount, after):
        """The first moment since a time at which the figure was at most so much, None where there was none."""
        until = [moment for moment, _ in self.changes[1:]] + [float("inf")]
        for (moment, held), end in zip(self.changes, until):
            if held is not None and held <= amount and end > after:
                return max(moment, after)
        return None
