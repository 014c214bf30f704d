"""Replays what a program asked of PyTorch's allocator, through the allocator itself, under other settings.

vramscope what-if runs it with the program's Python. On standard input: a line of JSON, the stand-in for the CUDA
runtime, the pickle of PyTorch's memory, and what the probe has noted. On standard output: JSON.
"""

import ctypes
import json
import os
import pickle
import re
import resource
import sys

NAME = b"libvramscope-what-if.so"  # in the stand-in, which is loaded under other names
ALLOCATE, FREE, EMPTY = range(3)
EMPTIED = EMPTY, 0, 0, 0
ENOUGH = 1 << 40  # bytes
GROWS = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}


class Refusal(Exception):
    pass


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise Refusal("a pickle of PyTorch's memory has no %s of %s" % (name, module))


class Trace:
    """A program's requests to the allocator on one GPU, up to its first out-of-memory error.
    emptied: the counts of allocations and frees after which the program emptied the cache, noted
    by the probe; None without notes."""

    def __init__(self, history, segments, emptied):
        def grown(entry):
            return GROWS.get(entry["action"], 0) * entry["size"]

        if any(tuple(one.get("pool_id", one.get("segment_pool_id", (0, 0)))) != (0, 0) for one in history + segments):
            raise Refusal("part of it is in a private pool, as CUDA graphs have one")
        self.begin = now = self.reserved = sum(s["total_size"] for s in segments) - sum(map(grown, history))
        noted = emptied is not None and not self.begin  # otherwise it is not known where the counts begin
        self.events, self.room, self.asked, count, live, lived = [], 0, None, 0, {}, {}
        for index, entry in enumerate(history):
            action, address = entry["action"], entry.get("addr")
            now += grown(entry)
            self.reserved = max(self.reserved, now)
            if action == "alloc":
                live[address] = index
                self.events.append((ALLOCATE, index, entry["size"], entry["stream"]))
            elif action == "free_completed":
                if address not in live:
                    live[address] = -1 - len(lived)
                    lived[address] = (ALLOCATE, live[address], entry["size"], entry["stream"])
                self.events.append((FREE, live.pop(address), 0, 0))
            elif action == "oom":
                self.room, self.asked = now + entry.get("device_free", address or 0), entry["size"]
                if not noted and self.events[-1:] == [EMPTIED]:
                    self.events.pop()  # the allocator emptied the cache itself, for this allocation
                self.events.append((ALLOCATE, index, entry["size"], entry["stream"]))
                break
            counted = action in ("alloc", "free_completed")
            count += counted
            if counted and count in emptied if noted else GROWS.get(action) == -1 and self.events[-1:] != [EMPTIED]:
                self.events.append(EMPTIED)
        for segment in segments if not self.room else ():
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated" and address not in live:
                    lived[address] = (ALLOCATE, -1 - len(lived), block.get("requested_size", block["size"]), segment["stream"])
                address += block["size"]
        self.whole = self.begin == 0 and not lived
        self.released = not noted and EMPTIED in self.events
        self.events[:0] = [lived[address] for address in sorted(lived)]


def load(stand_in, torch):
    """Loads the stand-in in place of NVIDIA's libraries. Returns it, and the CUDA version that it reports."""
    with open(torch + "/lib/libc10_cuda.so", "rb") as file:
        linked = re.search(rb"libcudart\.so\.(\d+)", file.read())
    if not linked:
        raise Refusal("its PyTorch has the CUDA runtime built in: nothing can stand in for it")
    libraries = []
    for name in (linked[0], b"libcuda.so.1", b"libnvidia-ml.so.1"):
        file = os.memfd_create("vramscope-what-if")
        os.write(file, stand_in.replace(NAME, name.ljust(len(NAME), b"\0")))
        libraries.append(ctypes.CDLL("/proc/self/fd/%d" % file, os.RTLD_GLOBAL | os.RTLD_LAZY))
    return libraries[0], int(linked[1]) * 1000 + 900


def check():
    with open("/proc/self/maps") as maps:
        for line in maps:
            name = line.rpartition("/")[2].strip()
            if name.startswith(("libcudart.so", "libcuda.so", "libnvidia-ml.so")):
                raise Refusal("%s is loaded: nothing is replayed beside it" % name)


class Replay:
    def __init__(self, torch, library, version, trace):
        self.torch, self.library, self.version, self.trace = torch, library, version, trace

    def run(self, *how):
        """Calls _run in a child process, because each replay needs a fresh allocator. Returns its answer."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                answer = self._run(*how)
            except Exception as error:
                answer = {"refused": "%s: %s" % (type(error).__name__, error)}
            os.write(writer, json.dumps(answer).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answer = json.loads(pipe.read() or b"{}")
        status = os.waitpid(child, 0)[1]
        if status or "refused" in answer:
            raise Refusal(answer.get("refused", "a replay ended with status %d" % status))
        return answer

    def _run(self, settings, memory, until=None):
        """Replays on a GPU with this much memory, up to an event or to the end."""
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = settings
        self.library.whatif_begin(self.version, ctypes.c_uint64(memory))
        cuda, own = self.torch.cuda, self.torch._C
        cuda.init()
        check()
        allocate, free = own._cuda_cudaCachingAllocator_raw_alloc, own._cuda_cudaCachingAllocator_raw_delete
        used, live = ctypes.c_uint64.in_dll(self.library, "whatif_used"), {}
        most, at = 0, -1
        failed = False
        try:
            for index, (kind, block, size, stream) in enumerate(self.trace.events):
                if kind == ALLOCATE:
                    live[block] = allocate(size, stream)
                    if used.value > most:
                        most, at = used.value, index
                elif kind == FREE:
                    free(live.pop(block))
                else:
                    cuda.empty_cache()
                if index == until:
                    return {"fragmented": fragmented(cuda.memory_snapshot())}
        except cuda.OutOfMemoryError:
            failed = True
        taken = cuda.memory._snapshot()["allocator_settings"].get("PYTORCH_CUDA_ALLOC_CONF", settings)
        if taken != settings:
            raise Refusal("its PyTorch took the settings %s" % taken)
        return {"reserved": cuda.max_memory_reserved(), "allocated": cuda.max_memory_allocated(), "failed": failed, "at": at}

    def estimate(self, settings):
        """Returns why the replay is only an estimate. Returns None if it is exact: under the program's own
        settings, the replay reserves as much as the program did."""
        if not self.trace.whole:
            return "it does not begin with the first allocation; what was live before is allocated first, in the order of the addresses"
        if self.trace.released:
            return "it or its allocator has released what was cached: the history does not say which, as vramscope run --record-memory does"
        own = self.run(settings, self.trace.room or ENOUGH)
        if (own["reserved"], own["failed"]) != (self.trace.reserved, self.trace.room > 0):
            return "its own settings reserve %d bytes in the replay, and reserved %d" % (own["reserved"], self.trace.reserved)

    def measure(self, settings, memory, sizes):
        """Returns the memory that the settings need, and the smallest of the GPU sizes on which nothing fails."""
        answer = self.run(settings, memory or ENOUGH)
        fragmented = self.run(settings, memory or ENOUGH, answer["at"])["fragmented"] if answer["at"] >= 0 else 0
        whole = self.run(settings, ENOUGH) if answer["failed"] else answer
        least, low, high = sorted(sizes), 0, len(sizes)
        while low < high:
            size = least[(low + high) // 2]
            fits = whole["allocated"] <= size and (whole["reserved"] <= size or not self.run(settings, size)["failed"])
            low, high = (low, (low + high) // 2) if fits and not whole["failed"] else ((low + high) // 2 + 1, high)
        return {
            "settings": settings, "reserved_bytes": answer["reserved"], "allocated_bytes": answer["allocated"],
            "fragmented_bytes": fragmented, "out_of_memory": answer["failed"] if memory else None,
            "smallest_gpu_gib": sizes[least[low]] if low < len(sizes) else None,
        }


def fragmented(segments):
    """Returns the bytes of free memory that no flush frees: live blocks share its segment, or its page
    in an expandable segment."""
    total = 0
    for segment in segments:
        page = 2 << 20 if segment["segment_type"] == "small" else 20 << 20
        begin, live = 0, any(block["state"] != "inactive" for block in segment["blocks"])
        for block in segment["blocks"]:
            end = begin + block["size"]
            if block["state"] == "inactive" and live:
                pages = max(0, end // page - -(-begin // page)) if segment.get("is_expandable") else 0
                total += block["size"] - pages * page
            begin = end
    return total


def main():
    asked = json.loads(sys.stdin.buffer.readline())
    for limit, most in ((resource.RLIMIT_AS, 64 << 30), (resource.RLIMIT_CPU, 600)):
        hard = resource.getrlimit(limit)[1]
        resource.setrlimit(limit, (most if hard < 0 else min(most, hard), hard))
    stand_in, memory = sys.stdin.buffer.read(asked["stand_in_bytes"]), asked["memory"]
    try:
        whole = Plain(sys.stdin.buffer).load()
        own = whole.get("allocator_settings", {}).get("PYTORCH_CUDA_ALLOC_CONF", "")
        library, version = load(stand_in, asked["site"] + "/torch")
        library.whatif_begin(version, ctypes.c_uint64(ENOUGH))
        sys.path[:0] = asked["paths"]
        sys.setdlopenflags(os.RTLD_LAZY)  # a function that is never called may be missing
        import torch

        sizes = {max(0, (gib << 30) * 15 // 16 - asked["outside"]): gib for gib in asked["sizes"]}
        noted, devices = json.loads(sys.stdin.buffer.read() or b"{}").get("emptied"), []
        for ordinal, history in enumerate(whole["device_traces"]):
            emptied = noted and set(noted.get(str(ordinal), ()))
            trace = Trace(history, [s for s in whole["segments"] if s["device"] == ordinal], emptied)
            if trace.events:
                replay = Replay(torch, library, version, trace)
                devices.append({
                    "ordinal": ordinal, "events": len(trace.events), "estimate": replay.estimate(own),
                    "recorded_reserved_bytes": trace.reserved, "recorded_out_of_memory": trace.room > 0,
                    "recorded_failed_bytes": trace.asked,
                    "settings": [replay.measure(one, memory or trace.room, sizes) for one in dict.fromkeys([own, *asked["settings"]])],
                })
        print(json.dumps({"torch": torch.__version__, "devices": devices}))
    except Exception as error:
        print(json.dumps({"refused": "%s: %s" % (type(error).__name__, error) if type(error) is not Refusal else str(error)}))


main()
