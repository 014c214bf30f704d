"""The ways in which programs use PyTorch's allocators. Each takes the module torch."""

import ctypes
import os

MIB = 1 << 20
held = []  # what is live
beside = {}  # device → bytes that the program has from the driver, not from PyTorch's allocator
workers = []  # child processes that use GPU 0: pid, allocated and reserved bytes
errors = {}  # device → how many torch.cuda.OutOfMemoryError the program survived


def tensors(torch, sizes, device=0):
    return [torch.empty(size, dtype=torch.uint8, device=device) for size in sizes]


def spare(torch, device=0):
    """Makes whole free segments, which a flush frees."""
    tensors(torch, [48 * MIB] * 4, device)


def fill(torch, device=0):
    """Memory of all kinds: live blocks, free blocks between them, and whole free segments."""
    held.append(tensors(torch, [64 * MIB] * 3 + [300_000] * 40, device))
    between = tensors(torch, [3 * MIB] * 24, device)
    held.append(between[::2])
    del between
    spare(torch, device)


def plain(torch):
    fill(torch)


def two_gpus(torch):
    fill(torch, 0)
    fill(torch, 1)


def second_gpu(torch):
    """Only GPU 1: a question must not make a context on GPU 0."""
    fill(torch, 1)


def pool(torch):
    """Another memory pool, made by the program."""
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
    """Blocks that were used on another stream are pending until that stream's event is seen."""
    fill(torch)
    side = torch.cuda.Stream()
    for tensor in tensors(torch, [30 * MIB] * 3):
        with torch.cuda.stream(side):
            tensor.fill_(1)
        tensor.record_stream(side)
    held.append(side)


def pinned(torch):
    """Host memory is not the GPU's."""
    fill(torch)
    held.append([torch.empty(32 * MIB, dtype=torch.uint8, pin_memory=True) for _ in range(3)])


def collected(torch):
    """The allocator collects its own garbage when a limit comes near."""
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(2048 * MIB / total)
    for size in (100, 150, 200, 250, 300):  # no size fits into what the previous one left
        for _ in range(3):
            tensors(torch, [size * MIB] * 2)
    torch.cuda.set_per_process_memory_fraction(1.0)
    fill(torch)


def exhausted(torch):
    """Three errors that the program survives. (Each has emptied the cache first.)"""
    for _ in range(3):
        try:
            tensors(torch, [1 << 40])
        except torch.cuda.OutOfMemoryError:
            errors[0] = errors.get(0, 0) + 1
    fill(torch)


def history(torch):
    """Recorded history is part of a snapshot."""
    torch.cuda.memory._record_memory_history(stacks="python")
    fill(torch)


def mixed(torch):
    """Memory from the driver beside PyTorch's."""
    fill(torch)
    runtime = runtime_of(torch)
    pointer = ctypes.c_void_p()
    for size in (64 * MIB, 6 * MIB):
        if runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)):
            raise MemoryError("cudaMalloc")
        beside[0] = beside.get(0, 0) + size


def uncached(torch):
    """PYTORCH_NO_CUDA_MEMORY_CACHING: each tensor is an allocation of the driver's."""
    sizes = [64 * MIB] * 3 + [2 * MIB] * 40
    held.append(tensors(torch, sizes))
    tensors(torch, [48 * MIB] * 4)
    beside[0] = sum(sizes)


def pluggable(torch):
    """An allocator of the program's own, which asks the driver for each tensor."""
    library = os.environ["VRAMSCOPE_REAL_PLUGGABLE"]
    torch.cuda.memory.change_current_allocator(torch.cuda.memory.CUDAPluggableAllocator(library, "take", "give"))
    uncached(torch)


def sleeper(torch):
    """A pool whose memory can go to sleep, beside the default pool, as in vLLM's sleep mode."""
    held.append(tensors(torch, [2 << 30]))
    path = os.environ["VRAMSCOPE_REAL_SLEEPER"]
    allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "take", "give")
    own = torch.cuda.MemPool(allocator.allocator())
    with torch.cuda.use_mem_pool(own):
        held.append(tensors(torch, [24 << 30, 16 << 30]))
    held.append((own, allocator))


def sleep(what):
    if getattr(ctypes.CDLL(os.environ["VRAMSCOPE_REAL_SLEEPER"]), what)():
        raise MemoryError(what)


def lie(torch, more):
    """Makes PyTorch report reserved memory that does not exist."""
    true = torch.cuda.memory_stats_as_nested_dict

    def lying(device=None):
        stats = true(device)
        stats["reserved_bytes"]["all"]["current"] += more
        return stats

    torch.cuda.memory_stats_as_nested_dict = torch.cuda.memory.memory_stats_as_nested_dict = lying


def loader(torch):
    """Workers that do not use the GPU, and a thread that pins the memory of what they send."""
    fill(torch)
    batches = torch.utils.data.DataLoader(range(64), batch_size=8, num_workers=2, pin_memory=True, persistent_workers=True)
    for batch in batches:
        held.append(batch.to("cuda:0", non_blocking=True))
    held.append(batches)  # with its workers


class OnGPU:
    """A dataset whose worker holds memory of GPU 0. Its items are figures of the worker's allocator."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        import torch

        held.append(tensors(torch, [30 * MIB, 3 * MIB]))
        spare(torch)
        stats = torch.cuda.memory_stats()
        return [os.getpid(), stats["active_bytes.all.current"], stats["reserved_bytes.all.current"]]


def spawned(torch):
    """Workers that use the GPU themselves, which forked workers cannot."""
    fill(torch)
    batches = torch.utils.data.DataLoader(OnGPU(), batch_size=None, num_workers=2, persistent_workers=True,
                                          multiprocessing_context="spawn")
    workers.extend([int(figure) for figure in item] for item in batches)
    held.append(batches)


def runtime_of(torch):
    return ctypes.CDLL(f"libcudart.so.{torch.version.cuda.partition('.')[0]}")


def empty(torch):
    """Only a context at first: the step "do" allocates later."""
    torch.cuda.init()


WAYS = {way.__name__: way for way in (
    empty, plain, two_gpus, second_gpu, pool, graph, streams, pinned, collected, exhausted, history, mixed, uncached, pluggable, sleeper, loader,
    spawned)}
