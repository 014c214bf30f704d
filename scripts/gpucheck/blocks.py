"""Sums of torch.cuda.memory_snapshot(), computed independently of the probe.

A flush frees an ordinary segment if no block in it is live. Of an expandable
segment it frees the pages without live blocks.
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
        self.pending_freed = 0  # pending memory that a flush frees
        for segment in segments:
            self.add(segment)

    def add(self, segment):
        freed = freed_pages(segment)
        at = fragmented = free = 0
        for block in segment["blocks"]:
            size = block["size"]
            flushed = sum(max(min(at + size, last) - max(at, first), 0) for first, last in freed)
            if block["state"] == "inactive":
                free += size
                self.largest_free = max(self.largest_free, size)
                fragmented += size - flushed
            else:
                self.pending_freed += flushed
            at += size
        self.live += at - free
        self.free += free
        self.fragmented += fragmented
        self.stranded_segments += fragmented > 0


def freed_pages(segment):
    """The ranges of a segment that a flush frees: those without live blocks. An ordinary segment is
    one such range. Pending blocks count as free, because a flush waits for them, but not in a
    private pool."""
    private = tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0)
    size = segment["total_size"]
    page = PAGES["small" if segment["segment_type"] == "small" else "large"] if segment.get("is_expandable") else size
    live, at = set(), 0
    for block in segment["blocks"]:
        end = at + block["size"]
        if block["state"] == "active_allocated" or private and block["state"] != "inactive":
            live.update(range(at // page, -(-end // page)))
        at = end
    return [(n * page, (n + 1) * page) for n in range(size // page) if n not in live]
