"""Programs by libraries that people train with, and what vramscope holds says of each.

    programs_job.py PROGRAM

Started by programs_test.go under vramscope run. The program trains as the library does. In the middle of a step it stands
still while `vramscope holds` looks at it from outside. Then it continues, because only the end of the step shows which
blocks were activations. It prints torch.cuda.memory_allocated() at that point, the answer, and the longest time for which
the probe's thread had the processor between two of its pauses: the thread cannot have held the GIL for longer.
"""

import gc
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

os.environ["DISABLE_ADDMM_CUDA_LT"] = "1"  # the stand-in for cuBLASLt multiplies nothing
os.environ.update(CUDA_VISIBLE_DEVICES="0", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", BITSANDBYTES_NOWELCOME="1")
warnings.simplefilter("ignore")

import torch
import vramscope_probe as probe
from torch import nn

GPU = "cuda"


class Over(BaseException):
    """Ends a program that has been looked at."""


class Looking(threading.Thread):
    """Runs vramscope to look at the program, while the program stands still."""

    steps, known, over = 0, False, False

    def middle(self, *_):
        """A program calls this in the middle of each step."""
        if self.over:
            raise Over
        self.steps += 1
        if self.steps == 2:
            self.start()
        elif self.known:
            gc.collect()  # otherwise the probe's allocations may start a collection during the question
            self.allocated = torch.cuda.memory_allocated()
            self.stands.set()
            while not (probe._steps.at_end or self.over):
                time.sleep(0.005)
            self.stands.clear()

    def ask(self):
        while True:  # the probe may not be there yet
            asked = subprocess.run([os.environ["VRAMSCOPE"], "holds", str(os.getpid()), "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if asked.returncode == 0:
                return json.loads(asked.stdout)["holds"]

    def run(self):
        longest, begun, answer = [0], {}, probe._Holds.answer

        def lap():
            this, now = threading.get_ident(), time.thread_time()
            longest[0] = max(longest[0], now - begun.get(this, now))

        def pausing(pause):
            def paused(*args):
                lap()
                try:
                    return pause(*args)
                finally:
                    if threading.get_ident() in begun:
                        begun[threading.get_ident()] = time.thread_time()

            return paused

        def answered(*args):
            begun[threading.get_ident()] = time.thread_time()
            try:
                return answer(*args)
            finally:
                lap()
                del begun[threading.get_ident()]

        self.ask()  # only so that the probe gets to know the optimizers as they step
        probe._sleep, probe._Steps.wait, probe._Holds.answer = pausing(probe._sleep), pausing(probe._Steps.wait), answered
        self.known = True
        self.stands.wait()
        asked = self.ask()
        self.over = True
        print(json.dumps(dict(asked, memory_allocated=self.allocated, hold_ms=longest[0] * 1e3)), flush=True)


looking = Looking(daemon=True)
looking.stands = threading.Event()
middle = looking.middle


def looked_at(model):
    """The model, with a hook that stands still when the model has computed its output."""
    model.register_forward_hook(middle)
    return model


class Tokens(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, _):
        return {"input_ids": torch.ones(64, dtype=torch.long), "labels": torch.ones(64, dtype=torch.long)}


def language_model():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(vocab_size=4000, hidden_size=256, intermediate_size=688, num_hidden_layers=4, num_attention_heads=8))


def trainer(model=None, optimizer="adamw_torch"):
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=8, max_steps=10**6, save_strategy="no", report_to=[],
                                  optim=optimizer, disable_tqdm=True, logging_strategy="no", dataloader_pin_memory=False)
    Trainer(model=looked_at(model or language_model()), args=arguments, train_dataset=Tokens()).train()


def trainer_adafactor():
    trainer(optimizer="adafactor")


def lora():
    import peft

    trainer(peft.get_peft_model(language_model(), peft.LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")))


def lightning():
    import pytorch_lightning

    class Net(pytorch_lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 512))

        def training_step(self, batch, _):
            loss = self.net(batch).square().mean()
            middle()
            return loss

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters())

    data = torch.utils.data.DataLoader(torch.ones(4096, 512), batch_size=64)
    pytorch_lightning.Trainer(accelerator="gpu", devices=1, max_epochs=10**6, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                              enable_model_summary=False).fit(Net(), data)


def diffusion():
    from diffusers import DDPMScheduler, UNet2DModel

    model = looked_at(UNet2DModel(sample_size=32, block_out_channels=(64, 128), layers_per_block=1, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
                                  up_block_types=("AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8)).to(GPU)
    noises, optimizer = DDPMScheduler(), torch.optim.AdamW(model.parameters())
    while True:
        images, noise = torch.zeros(4, 3, 32, 32, device=GPU), torch.zeros(4, 3, 32, 32, device=GPU)
        times = torch.zeros(4, dtype=torch.long, device=GPU)
        loss = nn.functional.mse_loss(model(noises.add_noise(images, noise, times), times).sample, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def vision():
    import torchvision

    torch.backends.cudnn.enabled = False  # the batch_norm of cuDNN's stand-in asks for too much memory
    train(looked_at(torchvision.models.resnet18()).to(GPU), lambda: torch.ones(8, 3, 64, 64, device=GPU), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))


def train(model, data, make=torch.optim.AdamW, after=lambda: None):
    optimizer = make(model.parameters())
    while True:
        output = model(data())
        output.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        after()


def layers():
    return nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 512)).to(GPU)


def batch():
    return torch.ones(64, 512, device=GPU)


def rank(number, path, shard):
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.FileStore(path, 2), rank=number, world_size=2)
    return shard(layers())


def ranks(shard):
    """Two ranks. The other rank is a process of its own, and is not looked at."""
    path = os.path.join(tempfile.mkdtemp(), "store")
    other = subprocess.Popen([sys.executable, __file__, "rank", path, shard.__name__])
    try:
        model = rank(1, path, shard)
        inner = [layer for layer in model.modules() if isinstance(layer, nn.Linear)][1]
        inner.register_forward_pre_hook(middle)  # the layer's parameters are gathered then
        train(model, batch)
    finally:
        other.kill()
        other.wait()


def fully_sharded(model):
    from torch.distributed.fsdp import fully_shard

    for layer in (model[0], model[2], model[4], model):
        fully_shard(layer)
    return model


def flat_sharded(model):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    return FullyShardedDataParallel(model, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}), device_id=0, use_orig_params=True)


def fsdp2():
    ranks(fully_sharded)


def fsdp1():
    ranks(flat_sharded)


def eight_bit():
    import bitsandbytes

    train(looked_at(layers()), batch, bitsandbytes.optim.Adam8bit)


def compiled():
    train(looked_at(torch.compile(layers(), backend="aot_eager")), batch)


def inductor():
    """A compiled model. Triton makes its kernels, which do nothing."""
    import torch._inductor.config

    torch._inductor.config.use_static_cuda_launcher = False  # the launcher loads kernels by a call that the fake driver lacks
    train(looked_at(torch.compile(layers())), batch)


def notebook():
    """Cells of IPython. One of them fails, and IPython keeps its traceback."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance(user_module=sys.modules["__main__"])
    for cell in (
        "import torch\nfrom torch import nn\nmodel = layers()\noptimizer = torch.optim.AdamW(model.parameters())",
        "def failing():\n    predictions = torch.ones(3 << 20, device='cuda')\n    raise ValueError('a cell fails')\nfailing()",
        "torch.ones(1 << 20, device='cuda')",
        "while True:\n    loss = model(batch()).square().mean()\n    middle()\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()",
    ):
        result = shell.run_cell(cell, store_history=True)
        if isinstance(result.error_in_exec, Over):
            raise Over


def gan():
    generator, critic = looked_at(layers()), layers()
    ours, theirs = torch.optim.Adam(generator.parameters()), torch.optim.RMSprop(critic.parameters())
    while True:
        made = generator(batch())
        (critic(batch()).mean() - critic(made.detach()).mean()).backward()
        theirs.step()
        theirs.zero_grad()
        critic(made).mean().backward()
        ours.step()
        ours.zero_grad()


def tied():
    from transformers import GPT2Config, GPT2LMHeadModel

    trainer(GPT2LMHeadModel(GPT2Config(vocab_size=8000, n_embd=256, n_layer=3, n_head=8, n_positions=128)))


def averages():
    model = layers()
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    train(looked_at(model), batch, after=lambda: mean.update_parameters(model))


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        model = rank(0, sys.argv[2], globals()[sys.argv[3]])
        train(model, batch)
    try:
        globals()[sys.argv[1]]()
    except Over:
        pass
    sys.stdout.flush()
    os._exit(0)  # also ends what the library has started
