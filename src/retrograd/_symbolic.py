"""Arithmetic on sizes that may be symbols in PyTorch; here sizes are numbers."""
from __future__ import annotations

import math
from typing import Any


class SymFloat:
    """A symbolic float, which there is none of."""


class SymBool:
    """A symbolic truth value, which there is none of."""


def sym_not(a: Any) -> bool:
    """`not a`.

    >>> sym_not(False)
    True
    """
    return not a


def sym_float(a: Any) -> float:
    """`a` as a float."""
    return float(a)


def sym_int(a: Any) -> int:
    """`a` as an int, rounded towards zero."""
    return int(a)


def sym_max(a: Any, b: Any) -> Any:
    """The greater one, as a float if one is.

    >>> sym_max(1, 2.0)
    2.0
    """
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller one, as a float if one is.

    >>> sym_min(1, 2.0)
    1.0
    """
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def sym_sum(args: Any) -> Any:
    """The sum of several numbers.

    >>> sym_sum([1, 2, 3])
    6
    """
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f


def sym_sqrt(a: Any) -> float:
    """The square root."""
    return math.sqrt(a)
