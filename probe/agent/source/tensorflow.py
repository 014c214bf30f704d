class _TensorFlow:
    """Source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/get_memory_info"""

    name, package, flushes = "TensorFlow", "tensorflow", False

    def __init__(self, driver):
        self._driver = driver

    def version(self):
        return str(getattr(_module("tensorflow"), "__version__", ""))

    def _config(self):
        """tf.config, once the program has made its devices: asking for them makes them."""
        context = _attribute(_module("tensorflow.python.eager.context"), "_context")
        if context is None or not getattr(context, "_initialized", False):
            return None
        return _attribute(_module("tensorflow"), "config")

    def active(self):
        config = self._config()
        return config is not None and bool(config.list_logical_devices("GPU"))

    def books(self):
        config = self._config()
        if config is None:
            return
        physical, logical = config.get_visible_devices("GPU"), config.list_logical_devices("GPU")
        if len(physical) != len(logical):
            return  # GPUs cut into virtual ones: whose is whose is not told
        for index, device in enumerate(physical):
            told = config.experimental.get_memory_info("GPU:%d" % index)
            yield int(device.name.rpartition(":")[2]), {
                "kind": "tensorflow",
                "basis": "largest_free",
                "allocated_bytes": int(told["current"]),
                "peak_allocated_bytes": int(told["peak"]),
                "returnable_bytes": 0,
            }
