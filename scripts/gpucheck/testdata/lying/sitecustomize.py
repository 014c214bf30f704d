"""Makes the probe lie for the test of scripts/gpu-check: it reports 512 reserved bytes and
one live block too many. With LIAR_FREEZES it also stops all threads at each question."""
import ctypes
import os

LIES = {("reserved_bytes", "current", "all"): 512, ("active", "current", "all"): 1}

try:
    import vramscope_probe as probe
except ImportError:  # vramscope run has not started this program
    probe = None
if probe is not None:
    honest = probe._figure

    def lying(stats, key, which="current", part="all"):
        value = honest(stats, key, which, part)
        return None if value is None else value + LIES.get((key, which, part), 0)

    probe._figure = lying
    if os.environ.get("LIAR_FREEZES"):
        report = probe._Memory.report

        def freezing(self, *arguments):
            ctypes.PyDLL(None).usleep(900000)  # keeps the GIL
            return report(self, *arguments)

        probe._Memory.report = freezing
