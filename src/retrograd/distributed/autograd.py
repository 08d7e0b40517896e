"""Backward passes over several processes: not available, as in a PyTorch without RPC."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = ("DistAutogradContext", "backward", "context", "get_gradients")
__all__ = ["is_available", *NAMES]
globals().update(absent(__name__, *NAMES))


def is_available() -> bool:
    """Whether gradients can go from process to process: they cannot.

    >>> is_available()
    False
    """
    return False
