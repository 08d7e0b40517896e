"""Whether attention may take its faster way for inference, which leaves out what is padding."""
from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]

_is_fastpath_enabled: bool = True


def get_fastpath_enabled() -> bool:
    """Whether `MultiheadAttention` and the layers of encoders may take their faster way.

    >>> get_fastpath_enabled()
    True
    """
    return _is_fastpath_enabled


def set_fastpath_enabled(value: bool) -> None:
    """Allow or forbid the faster way.

    >>> set_fastpath_enabled(True)
    """
    global _is_fastpath_enabled
    _is_fastpath_enabled = value
