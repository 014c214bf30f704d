"""A JAX program that allocates on request."""

import sys

from serving import Missing, serve

sys.path.pop(0)  # JAX must not import our modules


def meet():
    import jax

    held = {}
    device = jax.local_devices()[0]
    if device.platform != "gpu":
        raise Missing(f"JAX is installed but uses {device.platform}, not a GPU")

    def take(name, sizes):
        numbers = jax.numpy
        held[name] = [jax.device_put(numbers.zeros(size, dtype=numbers.uint8), device).block_until_ready() for size in sizes]

    def give(name):
        held.pop(name)

    def stats():
        return {key: value for key, value in (device.memory_stats() or {}).items() if isinstance(value, int)}

    return jax.__version__, {step.__name__: step for step in (take, give, stats)}


serve(meet)
