"""A stand-in for JAX, for tests. Listing its devices creates its backends, as in JAX."""

import types

__version__ = "0.4.35"

from jax._src.xla_bridge import local_devices  # noqa: E402,F401


class Array:
    """An array of no size: the pool's figures are constant."""

    def block_until_ready(self):
        return self


def device_put(array, device):
    return array


numpy = types.SimpleNamespace(uint8="uint8", zeros=lambda size, dtype: Array())
