"""An inference server keeps the keys and values of prefixes that requests may repeat.

A selective flush drops the entries that no request uses. An entry is computed again when
a request needs it.

    vramscope run -- python3 kv_cache.py
"""

import collections
import threading
import time

import torch

try:
    import vramscope_probe
except ImportError:  # it also runs without the probe
    vramscope_probe = None


class PrefixCache:
    """Keys and values by prefix, the least recently used first."""

    def __init__(self, layers=32, heads=8, tokens=4096, width=128):
        self.shape = layers, 2, heads, tokens, width
        self.entries = collections.OrderedDict()
        self.users = collections.Counter()
        self.lock = threading.Lock()  # evict runs on a thread of the probe

    def acquire(self, prefix):
        with self.lock:
            if prefix not in self.entries:
                self.entries[prefix] = torch.zeros(self.shape, dtype=torch.float16, device="cuda")
            self.entries.move_to_end(prefix)
            self.users[prefix] += 1
            return self.entries[prefix]

    def release(self, prefix):
        with self.lock:
            self.users[prefix] -= 1

    def unused(self):
        return [prefix for prefix in self.entries if not self.users[prefix]]

    def size(self):
        """The bytes that evict would free: those of entries that no request uses."""
        with self.lock:
            return sum(self.entries[prefix].nbytes for prefix in self.unused())

    def evict(self):
        with self.lock:
            for prefix in self.unused():
                del self.entries[prefix]


def main():
    cache = PrefixCache()
    if vramscope_probe:
        vramscope_probe.register_evictable("KV cache", 10, cache.evict, size=cache.size)
    request = 0
    while True:
        prefix = request % 8
        cache.acquire(prefix).mul_(1)  # the model would read it
        cache.release(prefix)
        request += 1
        if request == 8:
            print("ready", flush=True)
        time.sleep(.05 if request < 8 else 5)  # requests are rare at night


if __name__ == "__main__":
    main()
