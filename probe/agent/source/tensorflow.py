class _TensorFlow(_Runtime):
    """Source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/get_memory_info"""

    name, package = "TensorFlow", "tensorflow"

    def _config(self):
        """Returns tf.config, or None before the program has initialised its devices: a call would initialise them."""
        context = _attribute(_module("tensorflow.python.eager.context"), "_context")
        if context is None or not getattr(context, "_initialized", False):
            return None
        return _attribute(_module("tensorflow"), "config")

    def active(self):
        config = self._config()
        return config is not None and bool(config.list_logical_devices("GPU"))

    def stats(self):
        config = self._config()
        if config is None:
            return
        physical, logical = config.get_visible_devices("GPU"), config.list_logical_devices("GPU")
        if len(physical) != len(logical):
            return  # virtual GPUs: which physical one each is on is unknown
        for index, device in enumerate(physical):
            ordinal = int(device.name.rpartition(":")[2])
            figures = self._on_pool("tensorflow", ordinal) if self._async() else None
            figures = figures or self._allocator(config.experimental.get_memory_info("GPU:%d" % index))
            settings = _settings("TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR")
            growth = _attribute(config, "experimental", "get_memory_growth")
            if growth is not None and growth(device):
                settings = (settings + " memory_growth=True").strip()
            if settings:
                figures["config"] = settings
            yield ordinal, figures

    @staticmethod
    def _async():
        return os.environ.get("TF_GPU_ALLOCATOR") == "cuda_malloc_async"

    @staticmethod
    def _allocator(info):
        return {
            "kind": "tensorflow",
            "basis": "largest_free",
            "allocated_bytes": int(info["current"]),
            "peak_allocated_bytes": int(info["peak"]),
            "returnable_bytes": 0,
        }
