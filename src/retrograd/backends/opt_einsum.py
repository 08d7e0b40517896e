"""The package `opt_einsum`, which finds a good order of contraction if it is installed."""
from __future__ import annotations

from importlib.util import find_spec

enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether the package is installed.

    >>> is_available() in (True, False)
    True
    """
    return find_spec("opt_einsum") is not None


def set_flags(_enabled: bool | None = None, _strategy: str | None = None) -> tuple[bool, str | None]:
    """Change the settings, and return what they were.

    >>> before = set_flags(True, "greedy")
    >>> set_flags(*before)
    (True, 'greedy')
    """
    global enabled, strategy
    before = enabled, strategy
    if _enabled is not None:
        enabled = _enabled
    if _strategy is not None:
        strategy = _strategy
    return before
