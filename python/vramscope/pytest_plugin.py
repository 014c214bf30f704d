"""@pytest.mark.gpu_memory(limit="2GiB") limits a test's GPU memory, by the probe of the test's own process."""

import re
import sys
from typing import Any, Dict, Generator, List, Tuple

import pytest

from . import Allocator, Stats, self, size

_Key = Tuple[str, int, str]  # the GPU's UUID, the allocator's index, its kind


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "gpu_memory(limit): fails the test if its memory on a GPU exceeds the limit, '2GiB' or bytes.")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    marker = item.get_closest_marker("gpu_memory")
    if marker is None:
        return (yield)
    limit = _limit(marker)
    _reset_peaks()
    before = _allocators(self())  # self() also makes the probe notice what the test imports
    result = yield
    _judge(limit, before, _allocators(self()))
    return result


def _limit(marker: pytest.Mark) -> int:
    """The bytes of a limit: a number, "2GiB", "2G" (the same as "2GiB") or "2GB" (2,000,000,000)."""
    given = (*marker.args, *marker.kwargs.values())
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([KMGT]?)(I?)(B?)", str(given[0]).upper()) if len(given) == 1 else None
    if not found or found.group(3) and not found.group(2) or set(marker.kwargs) - {"limit"}:
        args = [repr(value) for value in marker.args] + ["%s=%r" % pair for pair in marker.kwargs.items()]
        pytest.fail('want @pytest.mark.gpu_memory(limit="2GiB"), not gpu_memory(%s)' % ", ".join(args), pytrace=False)
    number, unit, binary, byte = found.groups()
    return int(float(number) * (1000 if byte and not binary else 1024) ** " KMGT".index(unit or " "))


def _reset_peaks() -> None:
    """Resets PyTorch's peaks, so that they begin with the test. Other libraries cannot reset theirs."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        for ordinal in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(ordinal)


def _allocators(stats: Stats) -> Dict[_Key, Allocator]:
    """The allocators, without the kind raw: memory outside of all of them, which has no peak."""
    return {
        (device["uuid"], number, allocator["kind"]): allocator
        for device in stats["devices"]
        for number, allocator in enumerate(device["allocators"])
        if allocator["kind"] != "raw"
    }


def _judge(limit: int, before: Dict[_Key, Allocator], after: Dict[_Key, Allocator]) -> None:
    """Fails or skips the test, or returns if its memory was measured and is within the limit."""
    peaks: Dict[str, int] = {}
    parts: Dict[str, str] = {}
    unmeasured = [] if after else ["no library here has used a GPU"]
    for key, allocator in after.items():
        uuid, _, kind = key
        peak, old = allocator.get("peak_allocated_bytes"), before.get(key, {}).get("peak_allocated_bytes")
        if peak is None:
            unmeasured.append("%s reports no peak" % kind)
            continue
        if old is not None and peak <= old and peak > limit:
            held = max(stats.get("allocated_bytes") or 0 for stats in (before[key], allocator))
            if held <= limit:
                unmeasured.append("the peak of %s, %s, is from before the test" % (kind, size(peak)))
                continue
            peak = held
        peaks[uuid] = peaks.get(uuid, 0) + peak
        now: Any = allocator
        figures = ["%s %s" % (part, size(now.get(part + "_bytes"))) for part in ("allocated", "cached", "fragmented")]
        parts[uuid] = parts.get(uuid, "") + "\n  %s: %s at its peak; now %s" % (kind, size(peak), ", ".join(figures))
    over = ["%s on %s, of %s%s" % (size(peaks[uuid]), uuid, size(limit), parts[uuid]) for uuid in peaks if peaks[uuid] > limit]
    if over:
        pytest.fail("the test used more GPU memory than its limit: " + "\n".join(over), pytrace=False)
    if unmeasured:
        raise pytest.skip.Exception("its GPU memory was not measured: " + "; ".join(unmeasured), _use_item_location=True)
