"""A CuPy program that allocates on request."""

import sys

from serving import serve

sys.path.pop(0)  # CuPy must not import our modules


def meet():
    import cupy

    pool, held = cupy.get_default_memory_pool(), {}

    def context():
        cupy.cuda.Device(0).use()
        cupy.cuda.Device(0).synchronize()

    def take(name, sizes):
        held[name] = [cupy.empty(size, dtype=cupy.uint8) for size in sizes]
        cupy.cuda.Device(0).synchronize()

    def give(name):
        held.pop(name)
        cupy.cuda.Device(0).synchronize()

    def stats():
        return {"used": int(pool.used_bytes()), "total": int(pool.total_bytes())}

    return cupy.__version__, {step.__name__: step for step in (context, take, give, stats)}


serve(meet)
