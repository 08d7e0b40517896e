"""Triangles of matrices, over arrays."""
from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native


def beyond(rows: int, columns: int, k: int, upper: bool) -> Any:
    """The mask of elements right of a diagonal (`upper`) or left of it, not to be written to."""
    return (known_beyond if rows * columns <= FEW else new_beyond)(rows, columns, k, upper)


def new_beyond(rows: int, columns: int, k: int, upper: bool) -> Any:
    return ~np.tri(rows, columns, k, dtype=bool) if upper else np.tri(rows, columns, k - 1, dtype=bool)


FEW = 1024
known_beyond = lru_cache(maxsize=64)(new_beyond)


def cleared(fresh: Any, k: int, upper: bool) -> Any:
    """The unshared array with zeros right of a diagonal (`upper`) or left of it, in place."""
    if native is None or not isinstance(fresh, np.ndarray) or native.clear_triangle(fresh, k, upper) is None:
        rows, columns = fresh.shape[-2:]
        xp = lean.namespace_of(fresh)
        xp.copyto(fresh, 0, "unsafe", where=xp.asarray(beyond(rows, columns, k, upper)))
    return fresh


def lower_part(a: Any, k: int = 0) -> Any:
    """A copy with zeros above a diagonal.

    >>> lower_part(np.ones((2, 2))).tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """
    return cleared(lean.namespace_of(a).array(a, order="C"), k, True)


def upper_part(a: Any, k: int = 0) -> Any:
    """A copy with zeros below a diagonal.

    >>> upper_part(np.ones((2, 2))).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    return cleared(lean.namespace_of(a).array(a, order="C"), k, False)
