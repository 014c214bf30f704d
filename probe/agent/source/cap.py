class _Cap:
    """The limit that vramscope run --cap sets on what PyTorch's allocator reserves on each device.
    Setting the limit makes a context on the device. So if the program sees several devices, the
    probe's thread sets the limit of each device that the program uses. A single device gets its
    limit before the first allocation.

    Source: set_per_process_memory_fraction in torch/cuda/memory.py (2.0 to 2.15); the fraction is of the device's memory.
    """

    def __init__(self, runtime, driver):
        self._runtime, self._driver, self._set = runtime, driver, set()

    def begin(self, cuda):
        """Runs on the program's thread, at the end of CUDA's initialisation."""
        try:
            if cuda.device_count() == 1:
                self.apply(cuda, [0])
        except Exception:
            _log_failure("limiting PyTorch")

    def apply(self, cuda, ordinals=None):
        most = os.environ.get("VRAMSCOPE_CAP", "")
        if not most.isdecimal():
            return
        for ordinal in ordinals or self._runtime.ordinals(cuda):
            if ordinal not in self._set:
                self._runtime.locks.pass_by()
                self._set.add(ordinal)
                total = self._driver.describe(ordinal)[1] or cuda.get_device_properties(ordinal).total_memory
                try:
                    self._limit(ordinal, int(most) / total)
                except Exception:  # a pluggable allocator has no limit
                    _log_failure("limiting PyTorch")

    @staticmethod
    def _limit(ordinal, fraction):
        c = _module("torch")._C
        now = getattr(c, "_cuda_getMemoryFraction", lambda _: 1.0)  # since 2.8
        c._cuda_setMemoryFraction(min(fraction, now(ordinal)), ordinal)
