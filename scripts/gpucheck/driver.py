"""A process's memory by NVML, read in a fraction of a millisecond.

nvidia-smi takes tens of milliseconds to start, which is too long to measure how
soon freed memory shows. This module reads the same figures from the same library.
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
    """nvmlProcessInfo_v2_t of nvml.h, also used by the third version of the call."""
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
            raise CannotCheck("this driver has only the first version of the process list")

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result != 0:
            raise CannotCheck(f"{name}: NVML error {result}")

    def used_by(self, pid):
        """A process's bytes, or None if NVML does not list the process or its memory."""
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
        used = [info.used for info in infos[:count.value] if info.pid == pid and info.used != NOT_AVAILABLE]
        return max(used, default=None)

    def used(self):
        """Bytes in use on the whole GPU."""
        memory = Memory()
        self.call("nvmlDeviceGetMemoryInfo", self.device, ctypes.byref(memory))
        return memory.used


class Holding:
    """The memory of one of our processes, by the driver.

    If the driver does not list the process (as in many containers), bytes() returns the
    growth of the whole GPU's used memory since this object was made. In that time no
    other program on the GPU may allocate or free.
    """

    def __init__(self, driver, whole_gpu):
        self.driver, self.whole_gpu, self.pid = driver, whole_gpu, None
        self.before = driver.used()

    def bytes(self):
        if self.whole_gpu:
            return self.driver.used() - self.before
        return self.driver.used_by(self.pid)


class Watch:
    """Records every change of a process's memory, with its time, during the block."""

    def __init__(self, holding):
        self.holding, self.changes, self.failed = holding, [], None
        self.reads, self.began = 0, time.monotonic()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.poll, daemon=True)

    def poll(self):
        try:
            while not self.ended.wait(POLL_SECONDS):
                held = self.holding.bytes()
                self.reads += 1
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
        """The average interval between reads in seconds, which is the precision of the times."""
        return (time.monotonic() - self.began) / max(self.reads, 1)

    def first_at_most(self, amount, after):
        """The first time since `after` when the memory was at most this amount, or None."""
        until = [moment for moment, _ in self.changes[1:]] + [float("inf")]
        for (moment, held), end in zip(self.changes, until):
            if held is not None and held <= amount and end > after:
                return max(moment, after)
        return None
