"""A real TensorFlow that allocates in one of several ways, and reports its allocator's own figures.

Started by framework_test.go, and answers steps as torch_job.py does.
"""

import os
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[0] = os.path.join(HERE, "..", "gpucheck", "jobs")
from serving import serve  # noqa: E402

sys.path[0] = HERE
from driver import free_memory, pool_memory  # noqa: E402

sys.path.pop(0)  # TensorFlow must not import our modules

MIB = 1 << 20
held = []
errors = 0


def tensors(tf, sizes, device=0):
    with tf.device(f"/GPU:{device}"):
        return [tf.zeros(size, tf.uint8) for size in sizes]


def fill(tf, device=0):
    """Leaves live blocks, free blocks between them, and larger free blocks."""
    held.append(tensors(tf, [64 * MIB] * 3 + [586 * 512] * 40, device))
    between = tensors(tf, [3 * MIB] * 24, device)
    held.append(between[::2])
    tensors(tf, [48 * MIB] * 4, device)


def plain(tf):
    fill(tf)


def two_gpus(tf):
    fill(tf, 0)
    fill(tf, 1)


def exhausted(tf):
    """Three errors that the program survives."""
    global errors
    for _ in range(3):
        try:
            tensors(tf, [1 << 30] * 100)  # a single tensor of 100 GiB would land in host memory
        except tf.errors.ResourceExhaustedError:
            errors += 1
            continue
        raise AssertionError("100 GiB were allocated")
    fill(tf)


WAYS = {way.__name__: way for way in (plain, two_gpus, exhausted)}


def meet():
    import tensorflow as tf

    def begin(way, environment, fork):
        WAYS[way](tf)
        return os.getpid()

    def figures(device):
        free = free_memory(device)  # first, because it waits for pending memory
        info = tf.config.experimental.get_memory_info(f"GPU:{device}")
        own = {"allocated_bytes": info["current"], "peak_allocated_bytes": info["peak"], "returnable_bytes": 0}
        if os.environ.get("TF_GPU_ALLOCATOR") == "cuda_malloc_async":
            own["reserved_bytes"], used, own["peak_reserved_bytes"], own["peak_allocated_bytes"] = pool_memory(device)
            # The pool counts in steps of 512 bytes, TensorFlow the bytes that it has asked for.
            if not 0 <= used - own["allocated_bytes"] < 512 * 100:
                raise AssertionError(f"TensorFlow counts {own['allocated_bytes']}, its pool {used}")
            own["allocated_bytes"], own["cached_bytes"] = used, own["reserved_bytes"] - used
        return {"stats": own, "free": free, "errors": errors}

    return tf.__version__, {"begin": begin, "figures": figures}


serve(meet)
