"""Prints what a JAX answers to the questions of the probe, as JSON. See record_torch.py."""

import json

import jax
import numpy
from jax._src import xla_bridge

MIB = 1 << 20


def main():
    found = {"release": jax.__version__, "backends_are_initialized, at first": xla_bridge.backends_are_initialized()}
    device, = jax.local_devices(backend="gpu")
    held = [jax.device_put(numpy.zeros(size * MIB, dtype="uint8"), device).block_until_ready() for size in (10, 30, 3)]
    found["filled"] = device.memory_stats()
    del held[1]
    found["freed"] = device.memory_stats()
    found["backends_are_initialized"] = xla_bridge.backends_are_initialized()
    found.update({name: getattr(device, name) for name in ("id", "local_hardware_id", "platform")})
    print(json.dumps(found, sort_keys=True, indent=1))


main()
