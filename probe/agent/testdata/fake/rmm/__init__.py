"""A stand-in for RAPIDS' rmm, for tests."""

__version__ = "24.12.00"

from . import mr  # noqa: E402,F401
