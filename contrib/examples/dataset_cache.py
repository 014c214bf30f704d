"""A training keeps decoded samples on the GPU, so that epochs after the first need no
loading.

A selective flush drops the samples, and the next epoch loads them again. The program keeps
their size in a variable, so reading the size takes no lock.

    vramscope run -- python3 dataset_cache.py
"""

import threading
import time

import torch

try:
    import vramscope_probe
except ImportError:  # it also runs without the probe
    vramscope_probe = None


class Samples:
    def __init__(self, load):
        self.load = load
        self.kept = {}
        self.bytes = 0
        self.lock = threading.Lock()  # evict runs on a thread of the probe

    def __getitem__(self, index):
        with self.lock:
            sample = self.kept.get(index)
        if sample is None:
            sample = self.load(index)  # without the lock, because loading takes long
            with self.lock:
                if index not in self.kept:
                    self.kept[index] = sample
                    self.bytes += sample.nbytes
        return sample

    def evict(self):
        with self.lock:
            self.kept.clear()
            self.bytes = 0


def decode(index):
    return torch.zeros(64, 3, 512, 512, device="cuda")


def main():
    samples = Samples(decode)
    if vramscope_probe:
        vramscope_probe.register_evictable("dataset", 1, samples.evict, size=lambda: samples.bytes)
    model = torch.nn.Linear(16, 16, device="cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=.1)
    for epoch in range(10 ** 6):
        for index in range(4):
            samples[index]
            for parameter in model.parameters():
                parameter.grad = torch.zeros_like(parameter)
            optimizer.step()
        if epoch == 0:
            print("ready", flush=True)
        time.sleep(30)  # the rest of an epoch


if __name__ == "__main__":
    main()
