"""One of two ranks over gloo, under torchrun. Rank 0 keeps more with each step, until it runs out of memory."""

import os
import time

import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
rank = int(os.environ["LOCAL_RANK"])
torch.cuda.set_device(rank)
held = [torch.empty(10 << 30, dtype=torch.uint8, device="cuda")]
parameter = torch.nn.Parameter(torch.zeros(8, device="cuda"))
parameter.grad = torch.zeros_like(parameter)
optimizer = torch.optim.SGD([parameter], lr=0.1)
for _ in range(40):
    if rank == 0:
        held.append(torch.empty(512 << 20, dtype=torch.uint8, device="cuda"))
    optimizer.step()
    time.sleep(0.2)
if rank == 0:
    held.append(torch.empty(60 << 30, dtype=torch.uint8, device="cuda"))
time.sleep(60)  # the launcher ends it
