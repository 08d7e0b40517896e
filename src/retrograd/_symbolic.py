"""Arithmetic on sizes that may be symbols in PyTorch; here sizes are numbers."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from retrograd.core.api import overridable


def of_numbers(function: Callable[..., Any]) -> Any:
    """Let things that are like tensors take over a function of numbers."""
    return overridable(function, function.__name__)


class SymFloat:
    """A symbolic float, which there is none of."""


class SymBool:
    """A symbolic truth value, which there is none of."""


@of_numbers
def sym_not(a: Any) -> bool:
    """`not a`.

    >>> sym_not(False)
    True
    """
    return not a


@of_numbers
def sym_float(a: Any) -> float:
    """`a` as a float."""
    return float(a)


@of_numbers
def sym_int(a: Any) -> int:
    """`a` as an int, rounded towards zero."""
    return int(a)


@of_numbers
def sym_max(a: Any, b: Any) -> Any:
    """The greater one, as a float if one is.

    >>> sym_max(1, 2.0)
    2.0
    """
    return float(max(a, b)) if isinstance(a, float) or isinstance(b, float) else max(a, b)


@of_numbers
def sym_min(a: Any, b: Any) -> Any:
    """The smaller one, as a float if one is.

    >>> sym_min(1, 2.0)
    1.0
    """
    return float(min(a, b)) if isinstance(a, float) or isinstance(b, float) else min(a, b)


@of_numbers
def sym_sum(args: Any) -> Any:
    """The sum of several numbers.

    >>> sym_sum([1, 2, 3])
    6
    """
    return sum(args)


@of_numbers
def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """`t` if `b`, else `f`."""
    return t if b else f


def real_function(name: str) -> Any:
    """A function of `math` that sizes have under the name `_sym_<name>`."""
    compute = getattr(math, name)

    def function(a: Any) -> float:
        return float(compute(a))
    function.__name__ = function.__qualname__ = f"_sym_{name}"
    function.__doc__ = f"`math.{name}`."
    return of_numbers(function)


_sym_sqrt, _sym_cos, _sym_cosh, _sym_sin = [real_function(name) for name in ("sqrt", "cos", "cosh", "sin")]
_sym_sinh, _sym_tan, _sym_tanh = [real_function(name) for name in ("sinh", "tan", "tanh")]
_sym_asin, _sym_acos, _sym_atan = [real_function(name) for name in ("asin", "acos", "atan")]
sym_sqrt = _sym_sqrt
