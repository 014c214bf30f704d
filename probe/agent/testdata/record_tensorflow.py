"""Prints what a TensorFlow answers to the questions of the probe, as JSON. See record_torch.py."""

import json

import tensorflow
from tensorflow.python.eager import context

MIB = 1 << 20


def main():
    config = tensorflow.config
    found = {"release": tensorflow.__version__, "context, at first": context._context is None}
    with tensorflow.device("/GPU:0"):
        held = [tensorflow.zeros([size * MIB], dtype=tensorflow.uint8) for size in (10, 30, 3)]
    found["filled"] = config.experimental.get_memory_info("GPU:0")
    del held[1]
    found["freed"] = config.experimental.get_memory_info("GPU:0")
    found["initialized"] = context._context._initialized
    found["logical"] = [device.name for device in config.list_logical_devices("GPU")]
    found["visible"] = [device.name for device in config.get_visible_devices("GPU")]
    print(json.dumps(found, sort_keys=True, indent=1))


main()
