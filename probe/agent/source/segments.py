# PyTorch's mapping unit in an expandable segment: kSmallBuffer and kLargeBuffer
# of c10/cuda/CUDACachingAllocator.cpp.
_PAGES = {"small": 2 << 20, "large": 20 << 20}

_FRAGMENTED = "stuck"  # the map's value


def _whole_pages(at, size, page):
    """(offset of the first whole page in [at, at + size), bytes of whole pages)"""
    first = -(-at // page) * page
    return first, max((at + size) // page * page - first, 0)


def _add_segment(maps, segment):
    """Adds a segment of torch.cuda.memory_snapshot() to its device's figures.

    largest: the largest free block; private: free memory in the private pool of
    a CUDA graph; fragmented: free memory of an expandable segment that is part
    of no whole page, so that no flush frees it; mixed: the number of segments
    with free memory between live blocks.
    """
    m = maps.setdefault(
        segment.get("device", 0), {"largest": 0, "private": 0, "mixed": 0, "fragmented": {"small": 0, "large": 0}}
    )
    expandable = bool(segment.get("is_expandable"))
    kind = "small" if segment.get("segment_type") == "small" else "large"
    at = returnable = fragmented = 0
    free = live = False
    for block in segment.get("blocks", ()):
        size = block.get("size", 0)
        if block.get("state") == "inactive":
            free = True
            m["largest"] = max(m["largest"], size)
            if expandable:
                whole = _whole_pages(at, size, _PAGES[kind])[1]
                fragmented += size - whole
                returnable += whole
        else:
            live = True
        at += size
    m["fragmented"][kind] += fragmented
    m["mixed"] += 1 if (fragmented if expandable else free and live) else 0
    if not expandable and not live:
        returnable = segment.get("total_size", 0)
    if _is_private(segment):
        m["private"] += returnable


def _is_private(segment):
    return tuple(segment.get("segment_pool_id") or (0, 0)) != (0, 0)


def _pieces(segment):
    """A segment as [[size, state], …]. Free memory is cached if a flush frees it, else fragmented."""
    blocks = [(b.get("size", 0), b.get("state", "")) for b in segment.get("blocks", ())]
    expandable, private = segment.get("is_expandable"), _is_private(segment)
    page = _PAGES["small" if segment.get("segment_type") == "small" else "large"]
    idle = all(state == "inactive" for _, state in blocks)
    pieces, at = [], 0
    for size, state in blocks:
        if state != "inactive":
            parts = ((size, "live" if state == "active_allocated" else "pending"),)
        elif private or not (expandable or idle):
            parts = ((size, _FRAGMENTED),)
        elif not expandable:
            parts = ((size, "cached"),)
        else:
            first, whole = _whole_pages(at, size, page)
            head = first - at if whole else size
            parts = ((head, _FRAGMENTED), (whole, "cached"), (size - head - whole, _FRAGMENTED))
        pieces.extend([part, word] for part, word in parts if part > 0)
        at += size
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
