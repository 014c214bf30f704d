"""Programs whose allocations vramscope what-if replays, and what PyTorch really reserves for them.

    whatif_job.py PROGRAM [ROOM]             runs it once: under vramscope run --record-memory
    whatif_job.py PROGRAM {ROOM SETTINGS}…   runs it under each of the settings

ROOM is how many bytes of the GPU are for PyTorch, 0 for all. For each run the program prints the most that PyTorch
reserved and, if an allocation failed, its size and the free, reserved and allocated bytes at that moment.

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
    """Training on sequences whose length differs from step to step."""
    model = nn.Sequential(nn.Embedding(2000, 128), *[Block(128) for _ in range(4)], nn.Linear(128, 2000)).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(12):
        loss = model(torch.zeros(8, random.randrange(64, 512), dtype=torch.long, device=GPU)).logsumexp(-1).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def batches():
    """Training on batches of several sizes; the cache is emptied after each evaluation."""
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
    """Weights, and for each request a cache that grows with the generated text."""
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
    """Tensors of several streams, used on other streams."""
    queues, live = [torch.cuda.Stream() for _ in range(3)], []
    for _ in range(1500):
        with torch.cuda.stream(random.choice(queues)):
            live.append(torch.empty(int(2 ** random.uniform(8, 26)), dtype=torch.uint8, device=GPU))
            live[-1].record_stream(random.choice(queues))
        while len(live) > 60:
            live.pop(random.randrange(len(live)))


def gan():
    """Two networks with an optimizer each; the last batch of an epoch is smaller."""
    noise, image = 256, 3 * 64 * 64
    generator = nn.Sequential(nn.Linear(noise, 1024), nn.LeakyReLU(), nn.Linear(1024, image), nn.Tanh()).to(GPU)
    critic = nn.Sequential(nn.Linear(image, 1024), nn.LeakyReLU(), nn.Linear(1024, 1)).to(GPU)
    ours, theirs = torch.optim.Adam(generator.parameters()), torch.optim.RMSprop(critic.parameters())
    for step in range(30):
        n = 88 if step % 10 == 9 else 512
        made = generator(torch.empty(n, noise, device=GPU))
        theirs.zero_grad()
        (critic(torch.empty(n, image, device=GPU)).mean() - critic(made.detach()).mean()).backward()
        theirs.step()
        ours.zero_grad()
        critic(made).mean().backward()
        ours.step()


def checkpoints():
    """Training that recomputes its activations; evaluations with other lengths in between."""
    from torch.utils.checkpoint import checkpoint

    layers, head = nn.ModuleList(Block(192) for _ in range(8)).to(GPU), nn.Linear(192, 4000).to(GPU)
    optimizer = torch.optim.AdamW([*layers.parameters(), *head.parameters()], foreach=False)
    for step in range(10):
        x = torch.empty(6, random.randrange(100, 700), 192, device=GPU, requires_grad=True)
        for layer in layers:
            x = checkpoint(layer, x, use_reentrant=step % 2 == 0)
        head(x).logsumexp(-1).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            head(torch.empty(random.randrange(1, 9), 900, 192, device=GPU)).argmax(-1)


def loader():
    """A convolutional network in half precision, fed from pinned memory by a DataLoader."""
    torch.backends.cudnn.enabled = False  # the stand-in for cuDNN asks for too much memory, or has no batch_norm
    data = [torch.zeros(3, side, side) for side in random.choices((64, 96, 128, 160), k=24)]
    net = nn.Sequential(nn.Conv2d(3, 32, 1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 64, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).to(GPU)
    optimizer, scaler = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9), torch.amp.GradScaler("cuda")
    for _ in range(2):
        for one in torch.utils.data.DataLoader(data, batch_size=None, pin_memory=True):
            with torch.autocast("cuda", torch.float16):
                loss = net(one.to(GPU, non_blocking=True).expand(12, -1, -1, -1)).sum()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


def averages():
    """Averaged weights beside the trained ones. Gradients are accumulated, and now and then a copy of all weights is kept."""
    net = nn.Sequential(*[nn.Sequential(nn.Linear(768, 768), nn.GELU()) for _ in range(8)], nn.Linear(768, 768)).to(GPU)
    mean, best = torch.optim.swa_utils.AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)), None
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(40):
        net(torch.empty(random.choice((64, 512, 3000)), 768, device=GPU)).sum().backward()
        if step % 4 == 3:
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            mean.update_parameters(net)
        if step % 15 == 14:
            best = {name: value.clone() for name, value in net.state_dict().items()}
    return best


def llama():
    """transformers: training of a Llama, then its generation with a cache."""
    from transformers import LlamaConfig, LlamaForCausalLM

    model = LlamaForCausalLM(LlamaConfig(vocab_size=4000, hidden_size=256, intermediate_size=688, num_hidden_layers=6, num_attention_heads=8)).to(GPU)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(8):
        tokens = torch.zeros(4, random.randrange(40, 400), dtype=torch.long, device=GPU)
        model(input_ids=tokens, labels=tokens).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for _ in range(3):
            answer = model(input_ids=torch.zeros(random.randrange(1, 24), random.randrange(20, 300), dtype=torch.long, device=GPU), use_cache=True)
            for _ in range(60):
                answer = model(input_ids=answer.logits[:, -1:].argmax(-1), past_key_values=answer.past_key_values, use_cache=True)
        torch.cuda.empty_cache()


def notebook():
    """Cells that are run again: a new model is loaded beside the old one, and some of the unneeded
    memory is freed."""
    import gc

    def load(width):
        return nn.Sequential(*[nn.Linear(width, width, dtype=torch.bfloat16) for _ in range(12)]).to(GPU)

    model, outputs = load(1024), []
    for cell in range(24):
        with torch.no_grad():
            outputs.append(model(torch.empty(random.randrange(100, 6000), model[0].in_features, dtype=torch.bfloat16, device=GPU)))
        if cell % 5 == 4:
            model = load(random.choice((768, 1024, 1536)))
        if cell % 7 == 6:
            del outputs[:-2]
            gc.collect()
            torch.cuda.empty_cache()
    return outputs


def graph():
    """A captured graph, whose pool is private."""
    weights = torch.empty(1024, 1024, device=GPU)
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        for _ in range(4):
            weights = weights @ weights
    return captured


def truth(program, room, settings):
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = settings
    torch.cuda.init()
    if room:
        runtime = ctypes.CDLL("libcudart.so." + torch.version.cuda.partition(".")[0])
        assert runtime.cudaMalloc(ctypes.byref(ctypes.c_void_p()), ctypes.c_size_t(torch.cuda.mem_get_info()[0] - room)) == 0
    figures = {"settings": settings, "out_of_memory": False}

    def observe(device, asked, limit, free):
        figures.update(out_of_memory=True, asked=asked, free=free, reserved=torch.cuda.memory_reserved(), allocated=torch.cuda.memory_allocated())

    torch._C._cuda_attach_out_of_memory_observer(observe)
    random.seed(7)  # Python seeds a forked child anew
    try:
        program()
    except torch.cuda.OutOfMemoryError:
        assert figures["out_of_memory"]
    print(json.dumps(dict(figures, reserved_bytes=torch.cuda.max_memory_reserved(), allocated_bytes=torch.cuda.max_memory_allocated())), flush=True)


run = globals()[sys.argv[1]]
if len(sys.argv) < 4:
    truth(run, int(sys.argv[2]) if len(sys.argv) > 2 else 0, "")
if len(sys.argv) > 3:
    import torch._dynamo  # noqa: F401  as optimizers do; the forks share it
for room, wanted in zip(sys.argv[2::2], sys.argv[3::2]):
    if os.fork() == 0:
        truth(run, int(room), wanted)
        os._exit(0)
    os.wait()
