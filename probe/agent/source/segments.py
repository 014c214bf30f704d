# PyTorch's mapping units in an expandable segment: kSmallBuffer, and the default of
# large_segment_size_mb. Source: c10/core/AllocatorConfig.h
_SMALL_PAGE, _LARGE_PAGE = 2 << 20, 20 << 20

_FRAGMENTED = "stuck"  # the state in a map


def _new_figures():
    """The figures of a device, which _add_segment fills in."""
    return {
        "largest": 0,  # the largest free block
        "private": 0,  # free memory in private pools, which a flush frees only if nothing uses the pool any more
        "pending": 0,  # pending memory that a flush frees, after waiting for the streams
        "mixed": 0,  # segments with fragmented memory
        "expandable": {"small": 0, "large": 0},  # expandable segments, which PyTorch's statistics do not count
        # Fragmented memory, less what PyTorch's statistics count as such: free memory of expandable
        # segments outside whole free pages. It is negative if the statistics count free blocks beside
        # pending blocks, which a flush frees.
        "fragmented": {"small": 0, "large": 0},
        "asleep": {},  # key of PyTorch's statistics → part → bytes that are counted and take no memory
    }


def _kind(segment):
    return "small" if segment.get("segment_type") == "small" else "large"


def _is_private(segment):
    return tuple(segment.get("segment_pool_id") or (0, 0)) != (0, 0)


def _may_sleep(segment):
    """Whether the segment may be of an allocator that unmaps its memory and keeps its addresses, as
    vLLM's sleep mode and torch_memory_saver do. PyTorch then continues counting it."""
    return _is_private(segment) and not segment.get("is_expandable")


def _add_asleep(m, segment):
    """Adds a segment without memory, as PyTorch's statistics count it."""
    size = {"inactive": 0, "active_allocated": 0}
    for block in segment.get("blocks", ()):
        size[block.get("state")] = size.get(block.get("state"), 0) + block.get("size", 0)
    free, whole = size["inactive"], sum(size.values())
    counted = {
        "reserved_bytes": whole,
        "active_bytes": whole - free,
        "allocated_bytes": size["active_allocated"],
        "inactive_split_bytes": free if len(segment.get("blocks", ())) > 1 else 0,
    }
    for key, bytes_asleep in counted.items():
        parts = m["asleep"].setdefault(key, {})
        for part in ("all", _kind(segment) + "_pool"):
            parts[part] = parts.get(part, 0) + bytes_asleep


def _add_segment(maps, segment, large_page):
    """Adds a segment of torch.cuda.memory_snapshot() to its device's figures."""
    m = maps.setdefault(segment.get("device", 0), _new_figures())
    kind, private, blocks = _kind(segment), _is_private(segment), segment.get("blocks", ())
    free = pending = largest = 0
    live = False
    for block in blocks:
        state, size = block.get("state"), block.get("size", 0)
        if state == "inactive":
            free += size
            if size > largest:
                largest = size
        elif state == "active_allocated":
            live = True
        else:
            pending += size
    counted = 0  # as fragmented, by PyTorch
    if segment.get("is_expandable"):
        m["expandable"][kind] += 1
        cached = freed = 0
        for block, _, whole in _whole_pages(segment, large_page):
            if block.get("state") == "inactive":
                cached += whole
            else:
                freed += whole
    else:
        idle = not live and not (private and pending)
        cached, freed = (free, pending) if idle else (0, 0)
        counted = free if len(blocks) > 1 else 0
    m["largest"] = max(m["largest"], largest)
    m["private"] += cached if private else 0
    m["pending"] += freed
    m["mixed"] += 1 if free > cached else 0
    m["fragmented"][kind] += free - cached - counted


def _whole_pages(segment, large_page):
    """Yields (block, offset at which the freed bytes begin, how many a flush frees) for each block of an expandable segment.

    A flush frees whole pages without live blocks. It waits for pending blocks
    first, but those of a private pool stay in that pool.
    """
    blocks, private = segment.get("blocks", ()), _is_private(segment)
    page = _SMALL_PAGE if _kind(segment) == "small" else large_page

    idle = [b.get("state") != "active_allocated" for b in blocks]
    if private:
        idle = [b.get("state") == "inactive" for b in blocks]
    at = begin = end = 0  # the block's offset; the begin and the end of its run of idle blocks
    for n, block in enumerate(blocks):
        size = block.get("size", 0)
        head = freed = 0
        if idle[n]:
            if at >= end:
                begin = end = at
                for m in range(n, len(blocks)):
                    if not idle[m]:
                        break
                    end += blocks[m].get("size", 0)
            first = max(at, -(-begin // page) * page)
            freed = min(at + size, end // page * page) - first
            head, freed = (first - at, freed) if freed > 0 else (0, 0)
        yield block, head, freed
        at += size


def _pieces(segment, large_page):
    """A segment as [[size, state], …]. Free memory is cached if a flush frees it, else fragmented."""
    blocks = segment.get("blocks", ())
    private = _is_private(segment)
    if segment.get("is_expandable"):
        every = _whole_pages(segment, large_page)
    else:
        idle = not any(b.get("state") == "active_allocated" for b in blocks)
        every = ((b, 0, b.get("size", 0) if idle else 0) for b in blocks)
    pieces = []
    for block, head, freed in every:
        size, state = block.get("size", 0), block.get("state", "")
        if state != "inactive":
            parts = ((size, "live" if state == "active_allocated" else "pending"),)
        elif private or not freed:
            parts = ((size, _FRAGMENTED),)
        else:
            parts = ((head, _FRAGMENTED), (freed, "cached"), (size - head - freed, _FRAGMENTED))
        pieces.extend([part, word] for part, word in parts if part > 0)
    return pieces


def _joined(pieces):
    """The pieces with equal neighbours merged."""
    joined = []
    for size, state in pieces:
        if joined and joined[-1][1] == state:
            joined[-1][0] += size
        else:
            joined.append([size, state])
    return joined
