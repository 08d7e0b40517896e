"""Intel's oneDNN, which nothing here uses."""
import sys

from retrograd.backends.absent import enabled, flags, is_available, is_built, version
from retrograd.backends.frozen import Settings

__all__ = ["enabled", "flags", "is_available", "is_built", "version"]

sys.modules[__name__].__class__ = Settings
