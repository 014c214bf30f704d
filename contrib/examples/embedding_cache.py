"""A recommender keeps all embeddings in host memory, and on the GPU copies of those that
it uses.

A selective flush drops the copies. A block is copied again when one of its rows is used.

    vramscope run -- python3 embedding_cache.py
"""

import threading
import time

import torch

try:
    import vramscope_probe
except ImportError:  # it also runs without the probe
    vramscope_probe = None

ROWS, WIDTH, BLOCK = 1 << 20, 256, 1 << 16


class Embeddings:
    """Blocks of rows, copied to the GPU when one of their rows is used."""

    def __init__(self):
        self.host = [torch.zeros(BLOCK, WIDTH) for _ in range(ROWS // BLOCK)]
        self.blocks = {}
        self.lock = threading.Lock()  # evict runs on a thread of the probe

    def lookup(self, row):
        block, at = divmod(row, BLOCK)
        with self.lock:
            if block not in self.blocks:
                self.blocks[block] = self.host[block].to("cuda")
            return self.blocks[block][at]

    def size(self):
        with self.lock:
            return sum(block.nbytes for block in self.blocks.values())

    def evict(self):
        with self.lock:
            self.blocks.clear()


def main():
    embeddings = Embeddings()
    if vramscope_probe:
        vramscope_probe.register_evictable("embeddings", 5, embeddings.evict, size=embeddings.size)
    for row in range(0, ROWS, BLOCK):
        embeddings.lookup(row)
    print("ready", flush=True)
    while True:
        embeddings.lookup(7)  # few rows are used after the start
        time.sleep(5)


if __name__ == "__main__":
    main()
