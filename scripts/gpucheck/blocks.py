"""What torch.cuda.memory_snapshot() says, summed up by ourselves.

Of a segment of the usual kind a flush returns all, if nothing in it is live, or
nothing. Of an expandable one it returns the whole free pages.
https://pytorch.org/docs/stable/notes/cuda.html#memory-management
"""

from gpucheck.figures import MIB

PAGES = {"small": 2 * MIB, "large": 20 * MIB}


class Blocks:
    """Sums over the segments of one device, in bytes."""

    def __init__(self, segments):
        self.segments = len(segments)
        self.reserved = sum(segment["total_size"] for segment in segments)
        self.live = self.free = self.stuck = self.largest_free = self.stranded_segments = 0
        for segment in segments:
            self.add(segment)

    def add(self, segment):
        idle = all(block["state"] == "inactive" for block in segment["blocks"])
        at = stuck = free = 0
        for block in segment["blocks"]:
            size = block["size"]
            if block["state"] == "inactive":
                free += size
                self.largest_free = max(self.largest_free, size)
                stuck += self.stuck_of(segment, at, size, idle)
            at += size
        self.live += at - free
        self.free += free
        self.stuck += stuck
        if stuck if segment.get("is_expandable") else free and not idle:
            self.stranded_segments += 1

    @staticmethod
    def stuck_of(segment, at, size, idle):
        """How much of a free block a flush leaves."""
        if not segment.get("is_expandable"):
            return 0 if idle else size
        page = PAGES["small" if segment["segment_type"] == "small" else "large"]
        whole = (at + size) // page - -(-at // page)
        return size - max(whole, 0) * page
