"""A real PyTorch that allocates in one of several ways, and reports its allocator's own figures.

Started by torch_test.go. It answers steps, in the protocol of gpucheck/jobs/serving.py:
begin allocates in one way, and figures prints what PyTorch reports. The import takes seconds,
so one program serves several ways, each in a forked child, which the step end ends.
"""

import json
import os
import pickle
import pickletools
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
OURS = [os.path.join(HERE, "..", "gpucheck", "jobs"), os.path.join(HERE, ".."), HERE]
sys.path[:0] = OURS
import torch_ways  # noqa: E402
from gpucheck.blocks import Blocks  # noqa: E402
from serving import serve  # noqa: E402

sys.path[:] = [path for path in sys.path if path not in OURS]  # PyTorch must not import our modules

# The keys of memory_stats, with those of a probe's report.
KEYS = {
    "reserved_bytes.all.current": "reserved_bytes",
    "active_bytes.all.current": "allocated_bytes",
    "reserved_bytes.all.peak": "peak_reserved_bytes",
    "active_bytes.all.peak": "peak_allocated_bytes",
    "active.all.current": "blocks",
    "num_ooms": "out_of_memory_count",
    "num_alloc_retries": "alloc_retries",
}


def figures(torch, device):
    """What PyTorch and the driver report for a device, with the names of a report."""
    found = {"free": torch.cuda.mem_get_info(device)[0], "beside": torch_ways.beside.get(device, 0),
             "errors": torch_ways.errors.get(device, 0), "workers": torch_ways.workers or None}
    backend = torch.cuda.get_allocator_backend()
    stats = torch.cuda.memory_stats(device) if backend in ("native", "cudaMallocAsync") else {}
    if not stats.get("reserved_bytes.all.peak"):
        return found
    if backend == "cudaMallocAsync":
        found["stats"] = {ours: stats[key] for key, ours in KEYS.items() if "bytes" in key}
        return found
    own = found["stats"] = {ours: stats[key] for key, ours in KEYS.items()}
    own["pending_bytes"] = own["allocated_bytes"] - stats["allocated_bytes.all.current"]
    segments = on(device, torch.cuda.memory_snapshot())
    if not any(segment["is_expandable"] for segment in segments):  # PyTorch does not count expandable segments
        own["segments"] = stats["segment.all.current"]
        if not own["pending_bytes"]:  # memory beside pending blocks is not fragmented: a flush frees it
            own["fragmented_bytes"] = stats["inactive_split_bytes.all.current"]
    if not torch._C._cuda_isHistoryEnabled():  # a probe does not look at blocks then
        found["blocks"] = sums(segments)
    return found


def on(device, segments):
    return [segment for segment in segments if segment["device"] == device]


def sums(segments):
    """Sums over the blocks, with the names of a report."""
    blocks = Blocks(segments)
    return {"reserved_bytes": blocks.reserved, "allocated_bytes": blocks.live, "fragmented_bytes": blocks.fragmented,
            "cached_bytes": blocks.free - blocks.fragmented, "largest_free_bytes": blocks.largest_free,
            "segments": blocks.segments, "stranded_segments": blocks.stranded_segments}


# The opcodes that memory_viz knows in a browser.
# Source: unpickle in https://github.com/pytorch/pytorch/blob/main/torch/utils/viz/MemoryViz.js
KNOWN = set("""APPEND APPENDS BINFLOAT BINGET BININT BININT1 BININT2 BINPUT BINUNICODE DICT EMPTY_DICT EMPTY_LIST EMPTY_TUPLE FRAME LIST LONG1
               LONG_BINGET LONG_BINPUT MARK MEMOIZE NEWFALSE NEWTRUE NONE PROTO SETITEM SETITEMS SHORT_BINUNICODE STOP TUPLE TUPLE1 TUPLE2 TUPLE3""".split())


def look(torch, path):
    """Compares a snapshot with PyTorch's own, and runs PyTorch's visualiser on it."""
    from torch.cuda import _memory_viz as viz

    with open(path, "rb") as file:
        written = file.read()
    content, own = pickle.loads(written), torch.cuda.memory._snapshot()
    strange = opcodes(written) - KNOWN
    expect(not strange, f"opcodes that memory_viz does not know: {strange}")
    expect(content.keys() == own.keys(), f"the keys {sorted(content.keys() ^ own.keys())}")
    for key in own:
        expect(without_looks(content[key]) == without_looks(own[key]), f"{key} is not _snapshot()'s")
    # segsum raises where the blocks do not make up their segments.
    expect(f"segments: {len(own['segments'])}\n" in viz.segsum(content), "segsum counts other segments")
    shown = sum(int(line.rpartition(" ")[2]) for line in viz.segments(content, format_flamegraph=str).splitlines())
    expect(shown == sum(segment["total_size"] for segment in own["segments"]), f"the flame graph shows {shown} bytes")
    listed, events = viz.trace(content), [len(trace) for trace in content["device_traces"] if trace]
    expect(all(f"{number} entries\n" in listed for number in events), f"the trace does not list {events} events")
    for plot in (viz.segment_plot, viz.trace_plot):
        expect("base64" in plot(content), plot.__name__)
    return sum(events)


def compare_map(torch, path):
    """Compares the sums over a map with those over PyTorch's blocks. Returns the cached bytes of
    each device."""
    with open(path, encoding="utf-8") as file:
        devices = {device["uuid"].removeprefix("GPU-"): device["segments"] for device in json.load(file)["devices"]}
    cached, whole = [], torch.cuda.memory_snapshot()
    for device in range(torch.cuda.device_count()):
        own = sums(on(device, whole))
        segments = devices.get(str(torch.cuda.get_device_properties(device).uuid), [])
        size = {state: sum(size for segment in segments for size, is_ in segment["blocks"] if is_ == state)
                for state in ("live", "pending", "cached", "stuck")}
        expect(len(segments) == own["segments"], f"{len(segments)} segments, PyTorch has {own['segments']}")
        expect(sum(size.values()) == own["reserved_bytes"], f"{size} of {own['reserved_bytes']} reserved")
        expect(size["live"] + size["pending"] == own["allocated_bytes"], f"{size}, {own['allocated_bytes']} allocated")
        cached.append(size["cached"])
    return cached


def without_looks(part):
    """The traces without their snapshot events; any other part unchanged."""
    if not (isinstance(part, list) and part and isinstance(part[0], list)):
        return part
    return [[event for event in trace if event["action"] != "snapshot"] for trace in part]


def opcodes(pickled):
    return {opcode.name for opcode, _, _ in pickletools.genops(pickled)}


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def meet():
    import torch

    def begin(way, environment, fork):
        """Allocates, here or in a child, which then answers. Returns the pid of the process that does."""
        if fork:
            child = os.fork()
            if child:
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                expect(status == 0, f"the child ended with {status}")
                return 0  # the answer to end
        os.environ.update(environment or {})
        torch_ways.WAYS[way](torch)
        torch.cuda.synchronize()
        return os.getpid()

    def spare(device):
        torch_ways.spare(torch, device)
        torch.cuda.synchronize(device)

    names = dict(vars(torch_ways), torch=torch)
    steps = {"begin": begin, "do": lambda code: exec(code, names), "spare": spare, "end": sys.exit, "figures": lambda device: figures(torch, device),
             "look": lambda path: look(torch, path), "map": lambda path: compare_map(torch, path)}
    return torch.__version__, steps


if __name__ == "__main__":
    serve(meet)
