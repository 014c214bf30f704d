"""A stand-in for TensorFlow, for tests. Listing its devices initialises them, as in TensorFlow."""

import types

__version__ = "2.17.0"

from tensorflow.python.eager import context  # noqa: E402


def _logical(kind):
    context.ensure_initialized()
    return [types.SimpleNamespace(name="/device:GPU:0")]


config = types.SimpleNamespace(
    list_logical_devices=_logical,
    get_visible_devices=lambda kind: [types.SimpleNamespace(name="/physical_device:GPU:1")],
    experimental=types.SimpleNamespace(get_memory_info=lambda name: {"current": 3 << 30, "peak": 5 << 30}),
)
