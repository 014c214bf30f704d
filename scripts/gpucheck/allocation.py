"""A CUDA program that allocates a known number of bytes.

It makes a context, runs a kernel, allocates 1 GiB and frees it, one step for
each line of input. The check compares the cost of the program's context with
`other` of a probe process.
"""

import ctypes
import sys

from gpucheck.children import started
from gpucheck.figures import MIB, Row, compare_bytes, in_mib, noted, show
from gpucheck.programs import CannotCheck, once, settled

HELD = 1 << 30           # bytes that the program allocates
SLACK = 2 * MIB
WORK = 2 * MIB           # bytes that the program's kernel fills


def hold(uuid):
    """Runs as the program that allocates, on the GPU with that UUID."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name, *arguments):
        result = getattr(cuda, name)(*arguments)
        if result != 0:
            print(f"failed {name}: CUDA error {result}", flush=True)
            sys.exit(1)

    def allocate(size):
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(size))
        return address

    def work():
        """Uses a stream, and the driver's own kernel for filling memory."""
        stream, address = ctypes.c_void_p(), allocate(WORK)
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuMemsetD8Async", address, ctypes.c_ubyte(1), ctypes.c_size_t(WORK), stream)
        call("cuStreamSynchronize", stream)
        call("cuMemFree_v2", address)

    call("cuInit", 0)
    device, context = choose(cuda, call, uuid), ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    print("context", flush=True)
    held = None
    for line in sys.stdin:
        step = line.strip()
        if step == "work":
            work()
        elif step == "allocate":
            held = allocate(HELD)
        elif step == "free":
            call("cuMemFree_v2", held)
        print(step, flush=True)


def choose(cuda, call, uuid):
    """CUDA's ordinal of the GPU with that UUID."""
    count, device = ctypes.c_int(), ctypes.c_int()
    call("cuDeviceGetCount", ctypes.byref(count))
    digits = (ctypes.c_ubyte * 16)()
    for ordinal in range(count.value):
        call("cuDeviceGet", ctypes.byref(device), ordinal)
        call("cuDeviceGetUuid", digits, device)
        if bytes(digits).hex() == uuid.removeprefix("GPU-").replace("-", ""):
            return device
    print(f"failed: CUDA does not show {uuid}", flush=True)
    sys.exit(1)


def held_by(vramscope, uuid, pid):
    """Our process's memory in vramscope once, or None if the driver does not list the process."""
    for gpu in once(vramscope)["gpus"]:
        if gpu["uuid"] == uuid:
            return next((p["used_bytes"] for p in gpu["processes"] if p["pid"] == pid), None)
    return None


class Context:
    """The cost of a context in bytes, before and after its first kernel. whole_gpu is set if the driver does not list
    our processes: then the cost comes from the whole GPU's memory."""

    def __init__(self, bare, working, whole_gpu):
        self.bare, self.working, self.whole_gpu = bare, working, whole_gpu


def check_allocation(vramscope, gpu, holding):
    """Returns rows about a process that allocates and frees memory, and the cost of its context."""
    where = f"allocation of {HELD // MIB} MiB"
    rows = []
    try:
        with started(sys.executable, sys.argv[0], "--hold", gpu["uuid"]) as child:
            def step(line):
                child.stdin.write(line + "\n")
                child.stdin.flush()
                answer = child.stdout.readline().strip()
                if answer != line:
                    raise CannotCheck(answer or "the program that allocates ended")
                settled()

            if child.first_line != "context":
                raise CannotCheck(child.first_line)
            settled()
            holding.pid = child.pid
            holding.whole_gpu = holding.driver.used_by(child.pid) is None
            bare, shown = holding.bytes(), held_by(vramscope, gpu["uuid"], child.pid)
            if holding.whole_gpu:
                rows.append(noted(where, "context alone, MiB", show(in_mib(bare)),
                                  "the driver does not report this PID's memory (container?): whole-GPU figures from here on"))
            else:
                rows.append(compare_bytes(where, "context alone", [bare], [shown], 0))
            step("work")
            context = Context(bare, holding.bytes(), holding.whole_gpu)
            rows.append(noted(where, "context after work, MiB", show(in_mib(context.working))))

            def now():
                return holding.bytes() if holding.whole_gpu else held_by(vramscope, gpu["uuid"], child.pid)

            start = now()
            for line, what, expected in (("allocate", "grows by", HELD), ("free", "after freeing", 0)):
                step(line)
                held = now()
                grown = None if held is None or start is None else held - start
                rows.append(compare_bytes(where, what, [expected], [grown], SLACK))
            return rows, context
    except (CannotCheck, OSError) as problem:
        return rows + [Row(where, "not made", "–", "–", "", f"– {problem}")], None
