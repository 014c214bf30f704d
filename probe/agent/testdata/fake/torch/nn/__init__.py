"""torch.nn of the stand-in."""

from .modules.module import Module  # noqa: F401
