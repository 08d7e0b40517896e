"""The package `opt_einsum`, which finds a good order of contraction if it is installed."""
from __future__ import annotations

from importlib.util import find_spec

enabled = True
strategy = "auto"


def is_available() -> bool:
    """Whether the package is installed.

    >>> is_available() in (True, False)
    True
    """
    return find_spec("opt_einsum") is not None
