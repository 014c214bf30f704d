"""Sums of torch.cuda.memory_snapshot(), computed independently of the probe.

A flush frees an ordinary segment if no block in it is live. Of an expandable
segment it frees the whole pages that are free.
https://pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from gpucheck.figures import MIB

PAGES = {"small": 2 * MIB, "large": 20 * MIB}


class Blocks:
    """Sums over the segments of one device, in bytes."""

    def __init__(self, segments):
        self.segments = len(segments)
        self.reserved = sum(segment["total_size"] for segment in segments)
        self.live = self.free = self.fragmented = self.largest_free = self.stranded_segments = 0
        for segment in segments:
            self.add(segment)

    def add(self, segment):
        idle = all(block["state"] == "inactive" for block in segment["blocks"])
        at = fragmented = free = 0
        for block in segment["blocks"]:
            size = block["size"]
            if block["state"] == "inactive":
                free += size
                self.largest_free = max(self.largest_free, size)
                fragmented += self.fragmented_in(segment, at, size, idle)
            at += size
        self.live += at - free
        self.free += free
        self.fragmented += fragmented
        if fragmented if segment.get("is_expandable") else free and not idle:
            self.stranded_segments += 1

    @staticmethod
    def fragmented_in(segment, at, size, idle):
        """How much of a free block no flush frees."""
        if not segment.get("is_expandable"):
            return 0 if idle else size
        page = PAGES["small" if segment["segment_type"] == "small" else "large"]
        whole = (at + size) // page - -(-at // page)
        return size - max(whole, 0) * page
