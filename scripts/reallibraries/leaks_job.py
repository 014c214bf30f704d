"""A training loop with ten leaks, each on a line of its own, and with allocations that do not leak.

Started by leaks_test.go under vramscope run. It writes the leaks' lines, and makes a step for each line
that it reads. With a directory as its argument it writes the files of memoryviz/testdata.
"""

import os
import sys

os.environ["DISABLE_ADDMM_CUDA_LT"] = "1"  # the stand-in for cuBLASLt multiplies nothing

import torch
from torch import nn

GPU = "cuda"
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)).to(GPU)
optimizer = torch.optim.AdamW(model.parameters(), fused=False)
losses, history, cache, outputs, steps = [], [], {}, [], 0


class Meter:
    def __init__(self):
        self.values = []

    def update(self, value):
        self.values.append(value * 2)  # leak


meter = Meter()


def hook(module, inputs, output):
    outputs.append(output.detach().clone())  # leak


model[0].register_forward_hook(hook)


def batch():
    x = torch.ones(64, 256, device=GPU)
    cache[steps] = x[:, :128].contiguous()  # leak
    return x + 0


def step():
    global steps
    steps += 1
    x = batch()
    loss = model(x).square().mean()
    history.append(torch.zeros(1 << 16, device=GPU))  # leak
    history.append(nn.functional.relu(x))  # leak
    losses.append(torch.cat([x, x]))  # leak
    cache["mask", steps] = torch.empty_like(x, dtype=torch.bool)  # leak
    meter.update(x)
    loss.backward()
    history.append([torch.full((8, 8), 1.0, device=GPU) for _ in range(3)])  # leak
    cache["norm", steps] = torch.sum(x, dim=1)  # leak
    losses.append(x.to(torch.float64))  # leak
    optimizer.step()
    optimizer.zero_grad()


if __name__ == "__main__":
    with open(__file__) as source:
        lines = [n for n, line in enumerate(source, 1) if line.rstrip().endswith("# leak")]
    if len(sys.argv) > 1:
        import vramscope_probe as probe

        step()
        torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=1000)
        step()
        name = os.path.join(sys.argv[1], "%s-" + torch.__version__.partition("+")[0] + ".pickle")
        torch.cuda.memory._dump_snapshot(name % "python")
        with open(name % "native", "wb") as file:
            assert probe._pickled(file.write)
        step()
        torch.cuda.memory._dump_snapshot(name % "after")
        sys.exit()
    step()
    print(*lines, flush=True)
    for _ in sys.stdin:
        step()
        print(flush=True)
