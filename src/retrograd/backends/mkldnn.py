"""Intel's oneDNN, which nothing here uses."""
from retrograd.backends.absent import enabled, flags, is_available, is_built, version

__all__ = ["enabled", "flags", "is_available", "is_built", "version"]
