"""Programs whose allocations vramscope what-if replays, and what PyTorch reserves for them in truth.

    whatif_job.py PROGRAM                  runs it once: under vramscope run --record-memory
    whatif_job.py PROGRAM ROOM SETTINGS…   runs it under each of the settings, with so many bytes of the GPU
                                           for PyTorch (0: all), and prints for each what it reserved at most

Started by whatif_test.go.
"""

import ctypes
import json
import os
import random
import sys

os.environ["DISABLE_ADDMM_CUDA_LT"] = "1"  # the stand-in for cuBLASLt multiplies nothing

import torch
from torch import nn

GPU = "cuda:0"


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.attention, self.out, self.up, self.down = nn.Linear(n, 3 * n), nn.Linear(n, n), nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

    def forward(self, x):
        q, k, v = self.attention(x).chunk(3, -1)
        x = x + self.out(torch.softmax(q @ k.transpose(1, 2), -1) @ v)
        return x + self.down(nn.functional.gelu(self.up(x)))


def transformer():
    """Training on sequences of other lengths in each step."""
    model = nn.Sequential(nn.Embedding(2000, 128), *[Block(128) for _ in range(4)], nn.Linear(128, 2000)).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(12):
        loss = model(torch.zeros(8, random.randrange(64, 512), dtype=torch.long, device=GPU)).logsumexp(-1).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def batches():
    """Training on batches of several sizes; its cache is emptied after each evaluation."""
    model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1000)).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for step in range(24):
        model(torch.empty(random.choice((256, 1024, 4096, 9000)), 512, device=GPU)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 12 == 11:
            with torch.no_grad():
                model(torch.empty(20000, 512, device=GPU))
            torch.cuda.empty_cache()


def server():
    """Weights, and a cache for each request that grows with what is generated."""
    weights = [torch.empty(4096, 2048, dtype=torch.float16, device=GPU) for _ in range(24)]
    requests = []
    for _ in range(400):
        requests.append(torch.empty(random.randrange(1, 64) * 1024 * random.choice((64, 128, 512)), dtype=torch.float16, device=GPU))
        for i, cache in enumerate(requests):
            if random.random() < 0.2:
                requests[i] = torch.cat([cache, torch.empty(65536, dtype=torch.float16, device=GPU)])
        requests = [cache for cache in requests if random.random() > 0.06]
    return weights


def streams():
    """Tensors of several streams, used on others."""
    queues, live = [torch.cuda.Stream() for _ in range(3)], []
    for _ in range(1500):
        with torch.cuda.stream(random.choice(queues)):
            live.append(torch.empty(int(2 ** random.uniform(8, 26)), dtype=torch.uint8, device=GPU))
            live[-1].record_stream(random.choice(queues))
        while len(live) > 60:
            live.pop(random.randrange(len(live)))


def truth(program, room, settings):
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = settings
    torch.cuda.init()
    if room:
        runtime = ctypes.CDLL("libcudart.so." + torch.version.cuda.partition(".")[0])
        assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(torch.cuda.mem_get_info()[0] - room)) == 0
    failed = False
    random.seed(7)  # a fork has another seed
    try:
        program()
    except torch.cuda.OutOfMemoryError:
        failed = True
    print(json.dumps({"settings": settings, "reserved_bytes": torch.cuda.max_memory_reserved(), "out_of_memory": failed}), flush=True)


run = globals()[sys.argv[1]]
if len(sys.argv) == 2:
    random.seed(7)
    run()
for wanted in sys.argv[3:]:
    if os.fork() == 0:
        truth(run, int(sys.argv[2]), wanted)
        os._exit(0)
    os.wait()
