class _Settings:
    """The settings of PyTorch's allocator, which the program may change as it runs.

    Source: https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf
    """

    def __init__(self):
        self._last = None  # the settings in the last snapshot
        self._seen = set()

    def learn(self, settings):
        """Takes the settings in a snapshot."""
        for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
            if settings.get(name):
                self._last = settings[name]
                break

    def text(self):
        """Returns the settings in PyTorch's syntax, or ""."""
        asked = self._ask()
        now = self._last if asked is None else asked()
        if now is None:
            now = _environment_settings()
        if len(self._seen) < 16:
            self._seen.add(now)
        return _clip(now)

    @staticmethod
    def _ask():
        """Returns PyTorch's function that returns the settings, or None. PyTorch 2.8 has none."""
        return _attribute(_module("torch"), "_C", "_accelerator_getAllocatorSettings")

    def expandable(self, stats):
        """Whether there may be expandable segments."""
        self.text()
        if any("expandable_segments:true" in one.lower().replace(" ", "") for one in self._seen):
            return True
        return bool(_figure(stats, "reserved_bytes")) and _figure(stats, "segment") == 0

    def large_page(self):
        """(mapping unit of the large pool's expandable segments, whether that is certain)

        large_segment_size_mb came with the function that _ask returns. A segment keeps the
        unit that it began with, and later settings that do not name the unit leave it as it
        was. So the unit is certain only if the program has never changed the settings.
        """
        self.text()
        if self._ask() is None:
            return _LARGE_PAGE, True
        sizes = [size for one in self._seen for size in _large_segment_sizes(one)]
        return max(sizes, default=_LARGE_PAGE), self._seen == {_environment_settings()}


def _environment_settings():
    return os.environ.get("PYTORCH_ALLOC_CONF") or os.environ.get("PYTORCH_CUDA_ALLOC_CONF") or ""


def _large_segment_sizes(settings):
    """The values of large_segment_size_mb in settings, in bytes."""
    pairs = [pair.partition(":") for pair in settings.replace(" ", "").split(",")]
    return [int(n) << 20 for name, _, n in pairs if name == "large_segment_size_mb" and n.isdigit() and int(n)]
