"""XNNPACK, which nothing here uses."""
from retrograd.backends.absent import enabled

__all__ = ["enabled"]
