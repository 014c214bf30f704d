"""A real PyTorch that allocates in one of several ways, and tells its allocator's own figures.

Started by suite_test.go. It answers steps, in the protocol of gpucheck/jobs/serving.py:
begin allocates in one way, figures tells what PyTorch says. As the import takes
seconds, one program serves several ways, each in a forked child; end ends the child.
"""

import os
import sys

sys.path[0] = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "gpucheck", "jobs")
from serving import serve  # noqa: E402

sys.path.pop(0)  # PyTorch must not import our modules

MIB = 1 << 20
held = []


def tensors(torch, sizes, device=0):
    return [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes]


def fill(torch, device=0):
    """Memory of all kinds: live blocks, free ones between them, and whole segments that are free."""
    held.append(tensors(torch, [64 * MIB] * 3 + [300_000] * 40, device))
    between = tensors(torch, [3 * MIB] * 24, device)
    held.append(between[::2])
    tensors(torch, [48 * MIB] * 4, device)


def plain(torch):
    fill(torch)


def two_gpus(torch):
    fill(torch, 0)
    fill(torch, 1)


def pool(torch):
    """A memory pool of the program's own, besides."""
    fill(torch)
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        held.append(tensors(torch, [40 * MIB, 5 * MIB]))
        tensors(torch, [24 * MIB])
    held.append(own)


def graph(torch):
    """A captured graph keeps its memory for replays. (Beginning a capture empties the cache.)"""
    captured = torch.cuda.CUDAGraph()
    source = torch.ones(8 * MIB, device=0)
    torch.cuda.synchronize()
    with torch.cuda.graph(captured):
        held.append(source * 2)
    captured.replay()
    held.extend((captured, source))
    fill(torch)


def streams(torch):
    """Blocks that were used on another stream are pending until its event is seen."""
    fill(torch)
    side = torch.cuda.Stream()
    for tensor in tensors(torch, [30 * MIB] * 3):
        with torch.cuda.stream(side):
            tensor.fill_(1)
        tensor.record_stream(side)
    held.append(side)


def pinned(torch):
    """Host memory is none of the GPU's."""
    fill(torch)
    held.append([torch.empty(32 * MIB, dtype=torch.uint8, pin_memory=True) for _ in range(3)])


def exhausted(torch):
    """Three errors that the program survives. (Each has emptied the cache first.)"""
    for _ in range(3):
        try:
            tensors(torch, [1 << 40])
        except torch.cuda.OutOfMemoryError:
            continue
        raise AssertionError("a TiB was allocated")
    fill(torch)


WAYS = {way.__name__: way for way in (plain, two_gpus, pool, graph, streams, pinned, exhausted)}


def figures(torch, device):
    """The allocator's own sums, those over its blocks, and the driver's free memory."""
    stats = torch.cuda.memory_stats(device)
    found = {"reserved": stats["reserved_bytes.all.current"], "active": stats["active_bytes.all.current"],
             "ooms": stats["num_ooms"], "free": torch.cuda.mem_get_info(device)[0]}
    if torch.cuda.get_allocator_backend() == "native":
        segments = [segment for segment in torch.cuda.memory_snapshot() if segment["device"] == device]
        found["segments"] = sum(segment["total_size"] for segment in segments)
        found["blocks"] = sum(block["size"] for segment in segments for block in segment["blocks"]
                              if block["state"].startswith("active"))
    return found


def meet():
    import torch

    def begin(way, environment, fork):
        """Allocates, here or in a child, which answers from then on. Returns who does."""
        if fork:
            child = os.fork()
            if child:
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                if status:
                    raise ChildProcessError(f"the child ended with {status}")
                return 0  # the answer to end
        os.environ.update(environment)
        WAYS[way](torch)
        torch.cuda.synchronize()
        return os.getpid()

    steps = {"begin": begin, "figures": lambda device: figures(torch, device), "end": sys.exit}
    return torch.__version__, steps


serve(meet)
