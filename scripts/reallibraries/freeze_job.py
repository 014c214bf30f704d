"""A real PyTorch with one thread inside a slow call of the driver while the main thread computes.

Started by freeze_test.go. The step "during" takes "cudaMalloc" or "cudaFree", which the fake driver
makes slow. It returns how long the call took, and how long the main thread stood still meanwhile, in ms.
"""

import os
import sys
import threading
import time

sys.path[0] = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "gpucheck", "jobs")
from serving import serve  # noqa: E402

sys.path.pop(0)  # PyTorch must not import our modules


def meet():
    import torch

    def tensor(mib):
        return torch.empty(mib << 20, dtype=torch.uint8, device=0)

    held = [tensor(64)]
    scheduled = open("/proc/thread-self/schedstat", "rb", buffering=0)

    def awake():
        """Seconds for which this thread ran or waited for a processor. The rest of the time it waits for the GIL."""
        return time.thread_time() + int(os.pread(scheduled.fileno(), 99, 0).split()[1]) / 1e9

    def during(call):
        # Both calls run without the GIL, so the thread stands for a C++ thread, which never has it.
        work = {"cudaMalloc": lambda: held.append(tensor(200)), "cudaFree": torch.cuda.empty_cache}[call]
        thread = threading.Thread(target=work)
        began, own = time.monotonic(), awake()
        thread.start()
        while thread.is_alive():
            sum(range(1000))
        took, own = time.monotonic() - began, awake() - own
        return {"took": took * 1000, "lost": (took - own) * 1000}

    def prepare():
        """Caches one segment, which cudaFree will free."""
        tensor(64)

    return torch.__version__, {"during": during, "prepare": prepare}


serve(meet)
