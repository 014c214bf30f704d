"""The caching allocator: segments, blocks, splitting, best fit, coalescing.

Rules: https://pytorch.org/docs/stable/notes/cuda.html#memory-management. An
expandable segment is mapped in pages. As in PyTorch, the figure "segment" does not
count it, and "inactive_split_bytes" does not count its free memory.
"""

import copy
import re

from . import figures

MIB = 1 << 20
SMALL, SMALL_SEGMENT, LARGE_SEGMENT = MIB, 2 * MIB, 20 * MIB


FRAMES = [{"filename": "job.py", "line": 1, "name": "job.py"}]


class OutOfMemoryError(RuntimeError):
    pass


class Block:
    def __init__(self, segment, address, size):
        self.segment, self.address, self.size = segment, address, size
        self.state, self.awaited, self.asked = "inactive", False, 0
        self.recorded = []  # the frames of its allocation, with history


class Segment:
    def __init__(self, kind, address, size, page=0):
        self.kind, self.address, self.size = kind, address, size
        self.page, self.expandable = page, page > 0
        self.blocks = [Block(self, address, size)] if size else []
        self.private = (0, 0)
        self.pages = []  # of an expandable segment

    def live(self):
        return sum(b.size for b in self.blocks if b.state != "inactive")


class CachingAllocator:
    def __init__(self, device, release, settings):
        self.device, self.release = device, release
        self.large, self.expandable = LARGE_SEGMENT, False
        self.configure(settings)
        self.segments, self.figures = [], figures.empty(release)
        self.events = []  # of the recorded history
        self.private = (0, 0)  # set by tests: the pool of a graph
        self.observers = []
        self.unused = set()  # set by tests: private pools that no graph uses any more
        self.capturing = False  # set by tests: a graph is being captured on this device

    def configure(self, settings):
        """Settings that are not mentioned stay as they are."""
        for on in re.findall(r"expandable_segments:(True|False)", settings):
            self.expandable = on == "True"
        for size in re.findall(r"large_segment_size_mb:(\d+)", settings):
            self.large = int(size) * MIB

    # -- Allocation

    def take(self, asked):
        size = max((asked + 511) // 512 * 512, 512)
        kind = "small" if size <= SMALL else "large"
        block = self._fit(kind, size) or self._grow(kind, size)
        if block is None:
            self.figures["num_alloc_retries"] += 1
            self.empty()
            block = self._fit(kind, size) or self._grow(kind, size)
        if block is None:
            self.figures["num_ooms"] += 1
            for observe in self.observers:
                observe(self.device.ordinal, size, self.device.total, self.device.left())
            raise OutOfMemoryError("CUDA out of memory. Tried to allocate %d" % size)
        rest = block.size - size
        if rest >= 512 if kind == "small" else rest > SMALL or block.segment.expandable and rest >= 512:
            after = Block(block.segment, block.address + size, rest)
            block.size = size
            blocks = block.segment.blocks
            blocks.insert(blocks.index(block) + 1, after)
        block.state, block.asked = "active_allocated", asked
        self._follow()
        return block

    def _fit(self, kind, size):
        fits = [
            b for s in self.segments if s.kind == kind and s.private == self.private
            for b in s.blocks if b.state == "inactive" and b.size >= size
        ]
        return min(fits, key=lambda b: (b.size, b.address), default=None)

    def _grow(self, kind, size):
        if self.expandable:
            return self._map(kind, size)
        whole = SMALL_SEGMENT if kind == "small" else self.large
        if size >= 10 * MIB:
            whole = (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
        address = self.device.take(whole)
        if address is None:
            return None
        self._count("num_device_alloc")
        segment = Segment(kind, address, whole)
        segment.private = self.private
        self.segments.append(segment)
        return segment.blocks[0]

    def _map(self, kind, size):
        """Maps pages at the segment's end and merges them with a free last block."""
        segment = next((s for s in self.segments if s.expandable and s.kind == kind and s.private == self.private), None)
        if segment is None:
            segment = Segment(kind, len(self.segments) << 36, 0, SMALL_SEGMENT if kind == "small" else self.large)
            segment.private = self.private
            self.segments.append(segment)
        page = segment.page
        end = segment.blocks[-1] if segment.blocks else None
        idle = end.size if end and end.state == "inactive" else 0
        more = -(-(size - idle) // page) * page
        pages = []
        while len(pages) < more // page:
            address = self.device.take(page)
            if address is None:
                for address in pages:
                    self.device.give(address, page)
                return None
            pages.append(address)
        self._count("num_device_alloc")
        segment.pages += pages
        segment.blocks.append(Block(segment, segment.address + segment.size, more))
        segment.size += more
        self._coalesce(segment)
        return segment.blocks[-1]

    def give(self, block):
        block.state = "active_pending_free" if block.awaited else "inactive"
        self._coalesce(block.segment)
        self._follow()

    def _coalesce(self, segment):
        joined = []
        for block in segment.blocks:
            last = joined[-1] if joined else None
            adjacent = last is not None and last.address + last.size == block.address
            if adjacent and last.state == block.state == "inactive":
                last.size += block.size
            else:
                joined.append(block)
        segment.blocks = joined

    def empty(self):
        """empty_cache: frees pending blocks, then whole free segments and pages."""
        self._count("num_sync_all_streams")
        for segment in list(self.segments):
            for block in segment.blocks:
                if block.state == "active_pending_free":
                    block.state, block.awaited = "inactive", False
            self._coalesce(segment)
            if segment.private != (0, 0) and segment.private not in self.unused:
                continue
            if segment.expandable:
                self._unmap(segment)
            elif not segment.live():
                self.device.give(segment.address, segment.size)
                self.segments.remove(segment)
                self._count("num_device_free")
        self._follow()

    def _unmap(self, segment):
        page = segment.page
        kept = []
        for block in segment.blocks:
            if block.state != "inactive":
                kept.append(block)
                continue
            begin = -(-(block.address - segment.address) // page) * page + segment.address
            end = (block.address + block.size - segment.address) // page * page + segment.address
            if begin >= end:
                kept.append(block)
                continue
            for _ in range((end - begin) // page):
                self.device.give(segment.pages.pop(), page)
            self._count("num_device_free")
            for address, stop in ((block.address, begin), (end, block.address + block.size)):
                if address < stop:
                    kept.append(Block(segment, address, stop - address))
        segment.blocks = kept
        segment.size = kept[-1].address + kept[-1].size - segment.address if kept else 0

    # -- Statistics

    def _count(self, key):
        if key in self.figures:
            self.figures[key] += 1

    def _sums(self):
        blocks = [(s, b) for s in self.segments for b in s.blocks]
        live = [(s, b) for s, b in blocks if b.state == "active_allocated"]
        active = [(s, b) for s, b in blocks if b.state != "inactive"]
        split = [(s, b.size) for s, b in blocks if b.state == "inactive" and b.size < s.size and not s.expandable]
        return {
            "allocation": [(s, 1) for s, _ in live],
            "allocated_bytes": [(s, b.size) for s, b in live],
            "requested_bytes": [(s, b.asked) for s, b in active],
            "active": [(s, 1) for s, _ in active],
            "active_bytes": [(s, b.size) for s, b in active],
            "reserved_bytes": [(s, b.size) for s, b in blocks],
            "inactive_split": [(s, 1) for s, _ in split],
            "inactive_split_bytes": split,
            "segment": [(s, 1) for s in self.segments if not s.expandable],
        }

    def _follow(self):
        sums = self._sums()
        for key in set(sums) & set(self.figures):
            self._follow_parts(self.figures[key], sums[key])
        pools = self.figures.get("reserved_bytes_by_private_pools")
        if pools is not None:
            for pool in {s.private for s in self.segments} - {(0, 0)} | set(pools):
                own = [part for part in sums["reserved_bytes"] if part[0].private == pool]
                self._follow_parts(pools.setdefault(pool, figures.parts()), own)

    @staticmethod
    def _follow_parts(counters, sums):
        for part, counter in counters.items():
            figures.follow(counter, sum(n for s, n in sums if part in ("all", s.kind + "_pool")))

    def reset_peaks(self):
        for key in figures.COUNTED:
            for counter in self.figures.get(key, {}).values():
                counter["peak"] = counter["current"]

    def stats(self):
        self._follow()
        return copy.deepcopy(self.figures)

    def snapshot(self, history):
        """memory_snapshot(): each contiguous run of mapped memory is a segment."""
        segments = []
        for s in sorted(self.segments, key=lambda s: s.address):
            runs = []
            for b in s.blocks:
                if runs and runs[-1][-1].address + runs[-1][-1].size == b.address:
                    runs[-1].append(b)
                else:
                    runs.append([b])
            for run in runs:
                segments.append(self._described(s, run, history))
        return segments

    def _described(self, segment, run, history):
        live = sum(b.size for b in run if b.state != "inactive")
        described = {
            "device": self.device.ordinal, "address": run[0].address, "stream": 0, "segment_type": segment.kind,
            "total_size": sum(b.size for b in run), "active_size": live,
            "allocated_size": sum(b.size for b in run if b.state == "active_allocated"),
            "blocks": [self._block(b, history) for b in run],
        }
        if self.release >= (2, 0):
            described["segment_pool_id"] = segment.private
        if self.release >= (2, 1):
            described["is_expandable"] = segment.expandable
        if self.release >= (2, 8):
            described.update(requested_size=sum(b.asked for b in run if b.state != "inactive"), frames=[])
        return described

    def _block(self, b, history):
        block = {"size": b.size, "state": b.state}
        if self.release >= (2, 0):
            block["address"], block["requested_size"] = b.address, b.asked
        if self.release >= (2, 1):
            block["frames"] = b.recorded
        elif history:
            block["history"] = FRAMES
        return block


class UncachedAllocator(CachingAllocator):
    """PYTORCH_NO_CUDA_MEMORY_CACHING=1: it counts no memory."""

    def take(self, size):
        address = self.device.take(size)
        if address is None:
            raise self.device.error("CUDA error: out of memory")
        return Block(None, address, size)

    def give(self, block):
        self.device.give(block.address, block.size)

    def empty(self):
        self._count("num_sync_all_streams")
