"""A PyTorch program that allocates, trains and captures graphs on request."""

import sys
import threading
import time

from serving import Missing, serve

sys.path.pop(0)  # PyTorch must not import our modules


class Training:
    """Training steps on a thread. times has [start, end] of each step, in seconds of the monotonic clock."""

    def __init__(self, step):
        self.step, self.times, self.failed = step, [], None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        try:
            while not self.ended.is_set():
                began = time.monotonic()
                self.step()
                self.times.append([began, time.monotonic()])
        except Exception as problem:
            self.failed = f"{type(problem).__name__}: {problem}"

    def progress(self):
        return {"times": list(self.times), "failed": self.failed}


class Beat:
    """A thread that wakes every 5 ms. late holds the gaps that were longer than 20 ms, in seconds."""

    EVERY, LATE = 0.005, 0.02

    def __init__(self):
        self.late, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        last = time.monotonic()
        while not self.ended.wait(self.EVERY):
            now = time.monotonic()
            if now - last > self.LATE:
                self.late.append(now - last)
            last = now

    def end(self):
        """The longest standstill, in ms."""
        self.ended.set()
        self.thread.join()
        return round(max(self.late, default=0) * 1000, 1)


def meet():
    import torch

    if not torch.cuda.is_available():
        raise Missing("PyTorch is installed but sees no GPU")
    held, capture, slow = {}, {}, {}
    training = []

    def context():
        """Makes a context, nothing else."""
        torch.cuda.init()
        torch.cuda.set_device(0)
        torch.cuda.synchronize(0)

    def take(name, sizes):
        held[name] = [torch.empty(size, dtype=torch.uint8, device=0) for size in sizes]
        torch.cuda.synchronize(0)

    def give(name, each=1):
        """Frees the tensors of that name; with each, only every each-th tensor."""
        held[name] = [tensor for number, tensor in enumerate(held[name]) if number % each]
        torch.cuda.synchronize(0)

    def refused():
        """Asks twice for more than any GPU has."""
        for _ in range(2):
            try:
                torch.empty(1 << 45, dtype=torch.uint8, device=0)
            except RuntimeError:
                continue
            raise Missing("an allocation of 32 TiB succeeded")

    def stats():
        return {key: value for key, value in torch.cuda.memory_stats(0).items() if isinstance(value, int)}

    def segments():
        found = [segment for segment in torch.cuda.memory_snapshot() if segment["device"] == 0]
        for segment in found:
            for part in (segment, *segment["blocks"]):
                for key in ("frames", "history"):
                    part.pop(key, None)
        return found

    def train():
        training.append(Training(step_of(torch)))

    def trained():
        return training[-1].progress()

    def rest():
        training[-1].ended.set()
        training[-1].thread.join()
        torch.cuda.synchronize(0)
        return training[-1].progress()

    def occupy():
        """Keeps the GPU busy for a second or two. (The stand-in and the fake driver do nothing.)"""
        if hasattr(torch.cuda, "_sleep"):
            torch.cuda._sleep(3_000_000_000)

    def begin_slowly(size):
        """Frees and allocates on a thread while the GPU works. The driver waits for the GPU in both calls."""
        held["slow"] = [torch.empty(size, dtype=torch.uint8, device=0)]
        torch.cuda.synchronize(0)
        slow.update(beat=Beat(), began=time.monotonic())
        slow["thread"] = threading.Thread(target=free_and_allocate, args=(size,), daemon=True)
        slow["thread"].start()

    def free_and_allocate(size):
        occupy()
        del held["slow"]
        torch.cuda.empty_cache()
        held["slow"] = [torch.empty(size, dtype=torch.uint8, device=0)]
        slow["seconds"] = time.monotonic() - slow["began"]

    def is_slow():
        return slow["thread"].is_alive()

    def end_slowly():
        slow["thread"].join()
        return {"seconds": round(slow["seconds"], 3), "longest_ms": slow["beat"].end()}

    def pend(size):
        """Frees a tensor while the GPU works. Returns whether the GPU was still working then; None if unknown."""
        tensor = torch.empty(size, dtype=torch.uint8, device=0)
        occupy()
        del tensor
        return not torch.cuda.current_stream().query() if hasattr(torch.cuda, "current_stream") else None

    def synchronize():
        torch.cuda.synchronize(0)

    def empty():
        torch.cuda.empty_cache()

    def captures():
        return hasattr(torch.cuda, "CUDAGraph")

    def begin_capture():
        """Captures the first half of a graph of y = 2x + 1."""
        x = torch.ones(1 << 20, device=0)
        x * 2 + 1  # loads the kernels first
        torch.cuda.synchronize(0)
        graph = torch.cuda.CUDAGraph()
        capture.update(x=x, graph=graph, within=torch.cuda.graph(graph))
        capture["within"].__enter__()
        capture["half"] = x * 2

    def end_capture():
        capture["y"] = capture["half"] + 1
        capture["within"].__exit__(None, None, None)

    def replay(value):
        """Returns the lowest and the highest of the graph's results for a value."""
        capture["x"].fill_(value)
        capture["graph"].replay()
        torch.cuda.synchronize(0)
        return [capture["y"].min().item(), capture["y"].max().item()]

    steps = (context, take, give, refused, stats, segments, train, trained, rest, begin_slowly, is_slow, end_slowly,
             pend, synchronize, empty, captures, begin_capture, end_capture, replay)
    return torch.__version__, {step.__name__: step for step in steps}


def step_of(torch):
    """A step of a small training, or only its allocations if there is no torch.nn."""
    if not hasattr(getattr(torch, "nn", None), "Linear"):
        def churn():
            tensors = [torch.empty(size << 20, dtype=torch.uint8, device=0) for size in (24, 12, 3)]
            torch.cuda.synchronize(0)
            del tensors
            time.sleep(0.005)
        return churn
    layers = [torch.nn.Linear(2048, 2048, device=0) for _ in range(4)]
    network = torch.nn.Sequential(*(part for layer in layers for part in (layer, torch.nn.GELU())))
    optimiser = torch.optim.Adam(network.parameters())
    batch = torch.randn(4096, 2048, device=0)

    def train():
        optimiser.zero_grad()
        network(batch).square().mean().backward()
        optimiser.step()
        torch.cuda.synchronize(0)
    return train


serve(meet)
