"""Prints what a PyTorch answers to the questions of the probe, as JSON.

It runs with real releases, which gives the files in recorded/, and with the stand-in
in fake/, which must answer the same (test_recorded.py). Addresses, times and stack
traces are replaced: they differ from run to run.
"""

import json
import os
import sys

MIB = 1 << 20
LIVE = [64 * MIB] + [300000] * 4
BETWEEN = [3 * MIB] * 7  # every other one is freed: fragmented
SPARE = [48 * MIB] * 2  # all are freed: returnable


def tensors(torch, sizes):
    return [torch.empty(size, dtype=torch.uint8, device=0) for size in sizes]


def answer(ask):
    """Returns what a call returns, or the class and first line of what it raises."""
    try:
        value = ask()
    except Exception as problem:
        return {"raises": [c.__name__ for c in type(problem).__mro__ if issubclass(c, Exception)],
                "message": str(problem).split("\n")[0]}
    return {"returns": value}


def placed(segments):
    """Puts the segments at addresses in the same order, 1 TiB apart."""
    for number, segment in enumerate(sorted(segments, key=lambda s: s["address"]), 1):
        move = (number << 40) - segment["address"]
        for part in [segment] + segment["blocks"]:
            part["address"] += move


def nameless(frames):
    """The first frame of a stack trace, without its contents."""
    return [{key: "job.py" if isinstance(value, str) else 1 for key, value in frame.items()} for frame in frames[:1]]


def snapshot(torch):
    whole = torch.cuda.memory._snapshot()
    placed(whole["segments"])
    for segment in whole["segments"]:
        for part in [segment] + segment["blocks"]:
            part["frames"] = nameless(part["frames"])
    whole["device_traces"] = [trace[:3] for trace in whole["device_traces"]]
    for trace in whole["device_traces"]:
        for event in trace:
            event.update(addr=0, time_us=0, frames=nameless(event["frames"]))
    return whole


def stats(torch):
    """memory_stats as a nested dictionary. Since 2.15 some keys are tuples."""
    nested = torch.cuda.memory_stats_as_nested_dict(0)
    pools = nested.get("reserved_bytes_by_private_pools")
    if pools:
        nested["reserved_bytes_by_private_pools"] = {"_".join(map(str, key)): value for key, value in pools.items()}
    return nested


def flat(torch):
    """Whether memory_stats() has the nested figures under joined names."""
    def joined(prefix, value):
        if not isinstance(value, dict):
            return {prefix: value}
        return {name: v for key, inner in value.items() for name, v in joined(prefix + "." + key if prefix else key, inner).items()}

    return torch.cuda.memory_stats(0) == joined("", stats(torch))


def during_capture(torch):
    captured = torch.cuda.CUDAGraph()
    found = {}
    try:
        with torch.cuda.graph(captured):
            found["empty_cache"] = answer(torch.cuda.empty_cache)
            found["ipc_collect"] = answer(torch.cuda.ipc_collect)
            found["set_device"] = answer(lambda: torch.cuda.set_device(0))
            found["plans"] = answer(torch.backends.cuda.cufft_plan_cache[0].clear)
            found["synchronize"] = answer(lambda: torch.cuda.synchronize(0))  # ends the capture
    except RuntimeError:
        pass
    return found


def pool(torch):
    """A memory pool of the program's own, with live and free memory."""
    own = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(own):
        return tensors(torch, [40 * MIB, 5 * MIB])[1], own


def pending(torch):
    """Frees a tensor that another stream has used: it is pending until an event is seen."""
    used = tensors(torch, [30 * MIB])[0]
    used.record_stream(torch.cuda.Stream())


def record(torch):
    cuda, held = torch.cuda, []
    calls = {}
    found = {"release": torch.__version__.split("+")[0], "calls": calls, "at first": cuda.memory_stats_as_nested_dict(0)}

    def moment(name):
        found[name] = {"memory_stats": stats(torch), "snapshot": answer(lambda: snapshot(torch))}

    calls["is_initialized, at first"] = answer(cuda.is_initialized)
    held.append(tensors(torch, LIVE))
    held.append(tensors(torch, BETWEEN)[::2])
    tensors(torch, SPARE)
    cuda.synchronize(0)
    calls["get_allocator_backend"] = answer(cuda.get_allocator_backend)
    calls["_cuda_isHistoryEnabled"] = answer(torch._C._cuda_isHistoryEnabled)
    calls["_cuda_hasPrimaryContext"] = answer(lambda: torch._C._cuda_hasPrimaryContext(0))
    calls["memory_snapshot"] = answer(lambda: len(cuda.memory_snapshot()))
    calls["memory_stats"] = answer(lambda: flat(torch))
    calls["is_initialized"] = answer(cuda.is_initialized)
    calls["_accelerator_getAllocatorSettings"] = answer(lambda: torch._C._accelerator_getAllocatorSettings())
    calls["version.hip"] = answer(lambda: torch.version.hip)
    calls["total_memory"] = answer(lambda: type(cuda.get_device_properties(0).total_memory).__name__)
    calls["uuid"] = answer(lambda: len(str(cuda.get_device_properties(0).uuid)))
    moment("filled")
    calls["empty_cache"] = answer(cuda.empty_cache)
    found["flushed"] = stats(torch)
    calls["MemPool"] = answer(lambda: held.append(pool(torch)))
    pending(torch)
    moment("pending")
    cuda.empty_cache()
    found["flushed with pending"] = stats(torch)
    calls["out of memory"] = answer(lambda: tensors(torch, [1 << 50]) and None)
    calls["out of memory"]["message"] = calls["out of memory"]["message"].split(".")[0]
    found["out of memory"] = stats(torch)
    calls["_record_memory_history"] = answer(lambda: cuda.memory._record_memory_history(stacks="python"))
    held.append(tensors(torch, [300000]))
    calls["_cuda_isHistoryEnabled, recorded"] = answer(torch._C._cuda_isHistoryEnabled)
    moment("recorded")
    calls["during capture"] = during_capture(torch)
    return found, held


def main():
    import torch

    found, held = record(torch)
    # One segment and one figure a line, so that differences are readable.
    text = json.dumps(found, sort_keys=True)
    for part in ('{"active_size"', '"memory_stats"', '"active"', '"device_traces"', '"message"'):
        text = text.replace(part, "\n" + part)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
    os._exit(0)  # after the failed capture the destructors of some releases abort: held must stay


main()
