"""Programs that train in different ways, and what vramscope says holds their memory.

Started by holds_test.go under vramscope run. A program stops in the middle of a step, asks its probe
what holds its memory, and continues. Every answer must agree to the byte with
torch.cuda.memory_allocated() and with the blocks of the tensors that the program knows.
"""

import gc
import glob
import json
import os
import socket
import sys
import threading
import time

os.environ["DISABLE_ADDMM_CUDA_LT"] = "1"  # the stand-in for cuBLASLt multiplies nothing

import torch
import vramscope_probe as probe
from torch import nn

GPU = "cuda"
NAMED = ("parameters", "gradients", "optimizer_state", "buffers")


class Skip(Exception):
    """Raised if this release of PyTorch cannot run the program here."""


class Stopped:
    """What the program holds at the point where it has stopped, as the program itself knows it."""

    def __init__(self, **held):
        blocks = {}
        for segment in torch.cuda.memory_snapshot():
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    blocks[block["address"]] = block["size"]
        self.blocks, self.allocated = blocks, torch.cuda.memory_allocated()
        assert sum(blocks.values()) == self.allocated
        self.sums, self.counts, taken = {}, {}, set()
        for name, tensors in held.items():
            tensors = [getattr(t, "_local_tensor", t) for t in tensors]  # the part of a distributed tensor that this rank has
            own = {t.untyped_storage().data_ptr() for t in tensors if t is not None and t.is_cuda} - taken
            taken |= own
            self.sums[name] = sum(blocks[address] for address in own)
            self.counts[name] = len(own)
        self.others = set(blocks) - taken


def of_model(*models):
    parameters = [p for m in models for p in m.parameters()]
    return {"parameters": parameters, "gradients": [p.grad for p in parameters], "buffers": [b for m in models for b in m.buffers()]}


def state_of(*optimizers):
    kept = [t for o in optimizers if hasattr(o, "momentum") for t in o.momentum + o.groups["master"]["fp32"]]
    return kept + [t for o in optimizers for s in o.state.values() for t in s.values() if torch.is_tensor(t) and t.is_cuda]


class Training(threading.Thread):
    """Makes steps. In the middle of each step the thread stands still until a question waits for the step's end."""

    def __init__(self, case):
        super().__init__(daemon=True)
        self.case, self.at, self.over, self.error, self.ended = case, None, False, None, {}
        self.parked = threading.Event()

    def stop(self, **held):
        """Stands still in the middle of a step, with these tensors."""
        gc.collect()  # otherwise the probe's allocations may start a collection during the question
        before, self.at = None, Stopped(**held)
        while before is None or before.blocks != self.at.blocks:  # a thread of gloo may still have a tensor
            time.sleep(0.05)
            before, self.at = self.at, Stopped(**held)
        self.parked.set()
        while not (probe._steps.at_end or self.over):
            time.sleep(0.005)
        self.parked.clear()

    def ends(self, *optimizers):
        """Notes the blocks at the end of each optimizer's step."""
        for o in optimizers:
            o.register_step_post_hook(lambda o, *_: self.ended.__setitem__(id(o), Stopped()))

    def run(self):
        try:
            self.case(self)
        except Exception as error:
            self.error = error
            self.parked.set()
            if not isinstance(error, Skip):
                raise


def mlp(width=256):
    return nn.Sequential(nn.Linear(width, 1024), nn.ReLU(), nn.BatchNorm1d(1024), nn.Linear(1024, width)).to(GPU)


def plain(t, model=None, make=lambda model: torch.optim.AdamW(model.parameters(), fused=False), also=None):
    model = model or mlp()
    optimizer = make(model)
    also = also(model) if also else {}
    t.ends(optimizer)
    buckets = []
    while not t.over:
        x = torch.ones(64, 256, device=GPU)
        loss = model(x).square().mean()
        held = of_model(model, *also.get("models", ()))
        if t.case is distributed:
            held["gradients"] = buckets
        t.stop(optimizer_state=state_of(optimizer), **held)
        loss.backward()
        if t.case is distributed:
            buckets = [parameter.grad.detach() for parameter in model.parameters()]
        optimizer.step()
        optimizer.zero_grad(set_to_none=t.case is not accumulating)


def accumulating(t):
    """Accumulates gradients: they exist in the middle of a step."""
    plain(t)


def tied(t):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(5000, 256)
            self.inner = nn.Linear(256, 256)
            self.head = nn.Linear(256, 5000, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.inner(self.embedding(x.long()[:, :4])))

    plain(t, Tied().to(GPU))


def view(t):
    """Two parameters and a buffer are views of one storage."""

    class Views(nn.Module):
        def __init__(self):
            super().__init__()
            whole = torch.ones(3 * 256 * 256, device=GPU)
            self.a = nn.Parameter(whole[: 256 * 256].view(256, 256))
            self.b = nn.Parameter(whole[256 * 256 : 2 * 256 * 256].view(256, 256))
            self.register_buffer("c", whole[2 * 256 * 256 :])

        def forward(self, x):
            return x @ self.a @ self.b

    plain(t, Views())


def averaged(t):
    """A copy of the weights, made by deepcopy, which no hook sees. AveragedModel registers the copy."""
    plain(t, also=lambda model: {"models": [torch.optim.swa_utils.AveragedModel(model)]})


def two_optimizers(t):
    """A GAN: the generator's step begins before the discriminator's ends."""
    generator, discriminator = mlp(), mlp()
    of_g = torch.optim.Adam(generator.parameters())
    of_d = torch.optim.SGD(discriminator.parameters(), momentum=0.9)
    t.ends(of_g, of_d)
    while not t.over:
        made = generator(torch.ones(64, 256, device=GPU))
        loss = discriminator(made.detach()).mean()
        t.stop(optimizer_state=state_of(of_g, of_d), **of_model(generator, discriminator))
        loss.backward()
        of_d.step()
        of_d.zero_grad()
        discriminator(made).mean().backward()
        of_g.step()
        of_g.zero_grad(), of_d.zero_grad()
        del made, loss


def adapter(t):
    """LoRA: the weights are frozen, and two small matrices beside them learn."""

    class Adapted(nn.Module):
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(256, 2048)
            self.base.requires_grad_(False)
            self.down, self.up = nn.Linear(256, 8, bias=False), nn.Linear(8, 2048, bias=False)

        def forward(self, x):
            return self.base(x) + self.up(self.down(x))

    plain(t, Adapted().to(GPU), lambda model: torch.optim.AdamW([p for p in model.parameters() if p.requires_grad]))


def foreach(t):
    plain(t, make=lambda model: torch.optim.Adam(model.parameters(), foreach=True, amsgrad=True))


def attributes(t):
    """An optimizer that keeps its state in other attributes than .state, as optimizers with master weights do."""

    class Own(torch.optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1})
            self.momentum = [torch.zeros_like(p) for p in self.param_groups[0]["params"]]
            self.groups = {"master": {"fp32": [p.detach().clone() for p in self.param_groups[0]["params"]]}}

        @torch.no_grad()
        def step(self, closure=None):
            for p, moment in zip(self.param_groups[0]["params"], self.momentum):
                if p.grad is not None:
                    moment.add_(p.grad)
                    p.sub_(moment, alpha=0.1)

    plain(t, make=lambda model: Own(model.parameters()))


def distributed(t):
    """DDP with one process, over gloo: gradients are views of DDP's buckets, which stay allocated."""
    import inspect

    import torch.distributed as dist

    if "init_sync" not in inspect.signature(nn.parallel.DistributedDataParallel).parameters:
        raise Skip("it would compare the ranks' models, with kernels that do nothing")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        plain(t, nn.parallel.DistributedDataParallel(mlp(), gradient_as_bucket_view=True, init_sync=False))
    finally:
        dist.destroy_process_group()


def compiled(t):
    plain(t, torch.compile(mlp(), backend="aot_eager"))  # inductor would compile kernels for a real GPU


def sharded(t):
    """FSDP with two ranks, over gloo; the other rank is a process of its own."""
    import subprocess
    import tempfile

    import torch.distributed.fsdp

    if not hasattr(torch.distributed.fsdp, "fully_shard"):
        raise Skip("it has no fully_shard")
    path = os.path.join(tempfile.mkdtemp(), "store")
    other = subprocess.Popen([sys.executable, __file__, "rank", path])
    try:
        plain(t, shard(1, path))
    finally:
        other.kill()
        other.wait()
        torch.distributed.destroy_process_group()


def shard(rank, path):
    import torch.distributed as dist
    import torch.distributed.fsdp

    dist.init_process_group("gloo", store=dist.FileStore(path, 2), rank=rank, world_size=2)
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256)).to(GPU)
    for layer in (model[0], model[2], model):
        torch.distributed.fsdp.fully_shard(layer)
    return model


def other_rank(path):
    model = shard(0, path)
    while True:
        model(torch.ones(64, 256, device=GPU)).square().mean().backward()


def eight_bit(t):
    try:
        import bitsandbytes
    except ImportError:
        raise Skip("bitsandbytes is not installed") from None
    plain(t, nn.Linear(256, 4096).to(GPU), lambda model: bitsandbytes.optim.Adam8bit(model.parameters()))


def many(t):
    """A snapshot of this program's blocks would take longer than the limit, which is 0 here."""
    probe._HOLD_MOST = 0
    try:
        plain(t)
    finally:
        probe._HOLD_MOST = 0.005


CASES = (plain, accumulating, tied, view, averaged, two_optimizers, adapter, foreach, attributes, distributed, compiled, sharded, eight_bit, many)


def ask():
    paths = []
    while not paths:
        time.sleep(0.01)
        paths = glob.glob(os.path.join(os.environ["XDG_RUNTIME_DIR"], "vramscope", "%d-*.sock" % os.getpid()))
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(paths[0])
        sock.sendall(b'{"id":1,"cmd":"holds"}\n')
        answer = json.loads(sock.makefile().readline())
    assert answer.get("ok"), answer
    return answer


def checked(answer):
    (device,) = answer["devices"]
    parts = {part["class"]: part["bytes"] for part in device["parts"]}
    assert sum(parts.values()) == device["allocated_bytes"], answer
    return device["allocated_bytes"], parts


def expect(name, got, want):
    if got != want:
        raise SystemExit(f"{name}: {got}, but it is {want}")


def check(case):
    gc.collect()  # FSDP's modules are in cycles
    t = Training(case)
    t.start()
    t.parked.wait()
    if not t.error:
        ask()  # so that the probe gets to know the optimizers as they step
    t.parked.wait()
    if isinstance(t.error, Skip):
        print(case.__name__, "is left out:", t.error)
        return
    if t.error:
        raise SystemExit(1)
    at = t.at
    answer = ask()
    ends = list(t.ended.values())
    allocated, parts = checked(answer)
    t.over = True
    t.join()
    print(case.__name__, json.dumps(parts), answer["notes"], answer["ms"], "ms", flush=True)
    expect(case.__name__ + ", allocated", allocated, at.allocated)
    expect(case.__name__ + ", moving", answer["moving"], False)
    for name in NAMED:  # the probe reads no gradients of the case many
        if case is many and name == "gradients":
            continue
        expect(f"{case.__name__}, {name}", parts[name], at.sums[name])
    if case is many:
        expect("by sizes", (answer["exact"], "activations" in parts, "gradients" in parts), (False, False, False))
        return
    gone = {address for address in at.others if any(address not in end.blocks for end in ends)}
    expect(case.__name__ + ", activations", parts["activations"], sum(at.blocks[address] for address in gone))
    rest = sum(at.blocks[address] for address in at.others - gone)
    expect(case.__name__ + ", the rest", parts["variables"] + parts["workspaces"] + parts["unnamed"], rest)


def beside(seconds=20):
    """Looks at a program that never stands still. Reading .grad in another thread could crash such a program."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.ReLU()) for _ in range(100)]).to(GPU)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    over, steps, looks = [], 0, 0

    def look():
        nonlocal looks
        while not over:
            probe._holders.walk(probe._Pace())
            looks += 1

    looking = threading.Thread(target=look)
    looking.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        model(torch.ones(8, 64, device=GPU)).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    answered = ask()
    over.append(True)
    looking.join()
    checked(answered)
    print(f"{looks} looks beside {steps} steps", flush=True)
    if not looks or not steps:
        raise SystemExit("neither went on")


def stalls(count):
    """What an answer about this many tensors costs a thread that never waits: the thread's longest gap."""
    half = nn.ParameterList(torch.empty(16, device=GPU) for _ in range(count // 4))
    optimizer = torch.optim.SGD(half.parameters(), lr=0)
    for parameter in half:
        parameter.grad = torch.empty_like(parameter)
        optimizer.state[parameter] = {"a": torch.empty_like(parameter), "b": torch.empty_like(parameter)}
    gaps, over = [], False

    def tick():
        last = time.monotonic()
        worst = 0
        while not over:
            now = time.monotonic()
            worst, last = max(worst, now - last), now
        gaps.append(worst)

    # For how long the probe's thread has the processor between two of its pauses.
    holds, clock = [0], {}
    sleep = probe._sleep

    def pause(seconds):
        if threading.get_ident() in clock:
            holds.append(time.thread_time() - clock[threading.get_ident()])
        sleep(seconds)
        if threading.get_ident() in clock:
            clock[threading.get_ident()] = time.thread_time()

    walk = probe._Holders.walk
    took = []

    def walked(self, pace):
        began = clock[threading.get_ident()] = time.thread_time()
        try:
            return walk(self, pace)
        finally:
            took.append(time.thread_time() - began)

    for asks in (False, True):
        over = False
        ticking = threading.Thread(target=tick, daemon=True)
        ticking.start()
        time.sleep(0.3)
        if asks:
            probe._sleep, probe._Holders.walk = pause, walked
            answer = ask()
        else:
            time.sleep(0.5)
        over = True
        ticking.join()
    probe._sleep, probe._Holders.walk = sleep, walk
    _, parts = checked(answer)
    print(f"{count} tensors: a walk {min(took) * 1e3:.1f} ms of CPU, the longest between two pauses {max(holds) * 1e3:.1f} ms; "
          f"the longest gap of another thread {gaps[1] * 1e3:.1f} ms, {gaps[0] * 1e3:.1f} ms without a question; "
          f"{answer['ms']:.0f} ms in all, exact {answer['exact']}, {parts}", flush=True)


def registration(count=20000):
    """What the probe's hooks cost when a module is constructed."""
    module = sys.modules["torch.nn.modules.module"]
    hooks = [getattr(module, "_global_%s_registration_hooks" % what) for what in ("parameter", "buffer", "module")]
    took = {}
    for with_ in (True, False) * 3:
        for h in hooks:
            saved = h.copy()
            if not with_:
                h.clear()
            h.saved = saved
        began = time.thread_time()
        for _ in range(count // 2):
            nn.Linear(1, 1, device="meta")
        took.setdefault(with_, []).append((time.thread_time() - began) / count * 1e6)
        for h in hooks:
            h.update(h.saved)
    print(f"a parameter of a new nn.Linear takes {min(took[True]):.2f} µs with the hook, {min(took[False]):.2f} without")


if __name__ == "__main__":
    if sys.argv[1:2] == ["rank"]:
        other_rank(sys.argv[2])
    if sys.argv[1:2] == ["--cost"]:
        kept = torch.ones(1, device=GPU)
        probe._STEP_WAIT = 0.01
        for count in (1000, 10000, 100000):
            time.sleep(2)
            stalls(count)
        registration()
        sys.exit()
    for case in CASES:
        if len(sys.argv) < 2 or case.__name__ in sys.argv[1:]:
            check(case)
    beside()
    # A notebook: its variables are those of the main module.
    kept = torch.ones(5 << 20, device=GPU)
    _, parts = checked(ask())
    expect("a variable", parts["variables"], 20 << 20)
    print("all passed")
