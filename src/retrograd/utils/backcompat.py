"""Switches of warnings about changes in old versions, all off; setting them has no effect."""
from __future__ import annotations


class Warning:
    """One such switch.

    >>> broadcast_warning.enabled
    False
    """

    def __init__(self) -> None:
        self.enabled = False


broadcast_warning = Warning()
keepdim_warning = Warning()
