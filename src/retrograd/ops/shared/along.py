"""Reading and writing by positions along one dimension, sorting and selecting rows: in C where it was built, with NumPy
otherwise."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.algorithms import native
from retrograd.core.copying import contiguous

INT64 = np.dtype(np.int64)
SMALL = 4096              # elements below which threads do not pay off
UFUNCS = {"+": np.add, "*": np.multiply, ">": np.maximum, "<": np.minimum}


def flat_index(index: Any) -> Any:
    """The positions as the compiled loops read them."""
    return np.ascontiguousarray(index, INT64)


def take_along(x: Any, index: Any, axis: int) -> Any:
    """The elements at positions that are known to be within range; dimensions other than `axis` agree.

    >>> take_along(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), 1).tolist()
    [[2], [3]]
    """
    if native is not None:
        made = np.empty(index.shape, x.dtype)
        if native.take_along(contiguous(x), flat_index(index), made, axis % x.ndim):
            return made
    return lean.take_along(x, index, axis)


def take_elements(x: Any, index: Any, axis: int) -> Any:
    """`take_along` in C; None without compiled code, for other shapes, and for positions out of range."""
    if native is None or not x.ndim:
        return None
    made = np.empty(index.shape, x.dtype)
    return made if native.take_along(contiguous(x), flat_index(index), made, axis) else None


def take_rows(x: Any, index: Any, axis: int = 0) -> Any:
    """x.take(index, axis): the rows at positions of any shape, which may count from the end; IndexError out of range.

    >>> take_rows(np.array([[1, 2], [3, 4]]), np.array([-1, 0])).tolist()
    [[3, 4], [1, 2]]
    """
    if native is not None and x.ndim and x.flags.c_contiguous:
        made = np.empty(x.shape[:axis] + index.shape + x.shape[axis + 1:], x.dtype)
        if made.size > SMALL and native.take_rows(x, flat_index(index), made, axis):
            return made
    return x.take(index, axis)


def put_elements(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """Write (`=`) or reduce (`+ * > <`) elements into `target`; False in the same cases. The target may then have been
    partly written if a position is out of range.
    """
    return bool(native is not None and target.ndim and native.put_along(
        target, flat_index(index), source if source.ndim == 0 else contiguous(source), axis, how))


def put_rows(target: Any, index: Any, source: Any, axis: int, how: str) -> bool:
    """The same for rows at the positions in a vector."""
    return bool(native is not None and target.ndim and native.put_rows(
        target, flat_index(index), contiguous(source), axis, how))


def add_rows(target: Any, index: Any, source: Any, axis: int) -> None:
    """Add rows at the positions in a vector, each duplicate counted."""
    if not put_rows(target, index, source, axis, "+"):
        lean.namespace_of(target).add.at(lean.moveaxis(target, axis, 0), index, lean.moveaxis(source, axis, 0))


def add_flat(target: Any, index: Any, values: Any) -> None:
    """target[index] += values for vectors, each duplicate counted."""
    if not put_elements(target, index, values, 0, "+"):
        np.add.at(target, index, values)


# ---- masks
def keep(x: Any, mask: Any) -> Any:
    """x[mask] for a mask over the leading dimensions.

    >>> keep(np.array([1, 2, 3]), np.array([True, False, True])).tolist()
    [1, 3]
    """
    made = native.keep(x, mask) if native is not None else None
    return x[mask] if made is None else made


def put_masked(target: Any, mask: Any, values: Any) -> None:
    """target[mask] = values; there must be enough values."""
    if native is None or not native.spread(target, np.ascontiguousarray(mask), np.ascontiguousarray(values)):
        target[mask] = values


def nonzero(x: Any) -> Any:
    """The positions of nonzero elements, one row for each dimension, at least one."""
    made = native.nonzero(contiguous(x)) if native is not None else None
    return lean.stack(lean.namespace_of(x).nonzero(x)) if made is None else made


# ---- order
def order_rows(x: Any, descending: bool = False) -> Any:
    """The order of the elements along the last dimension; equal ones keep theirs, NaN counts as the largest.

    >>> order_rows(np.array([3, 1, 2])).tolist()
    [1, 2, 0]
    """
    if native is not None and x.ndim:
        made = np.empty(x.shape, INT64)
        if native.select_rows(contiguous(x), made, "s", 0, descending, True) is not None:
            return made
    if not descending:
        return lean.namespace_of(x).argsort(x, -1, kind="stable")
    backwards = lean.namespace_of(x).argsort(lean.flip(x, -1), -1, kind="stable")
    return lean.flip(x.shape[-1] - 1 - backwards, -1)


def select_rows(x: Any, what: str, k: Any, descending: bool = False, sorted: bool = True) -> Any:
    """Positions along the last dimension by the steps of `reduction.selection`, or None where nothing is compiled.

    `what` is t for the k first, o for an order, k for element k by quickselect, m for element k by value and position.
    """
    if native is None or not x.ndim:
        return None
    size = x.shape[-1] if what == "o" else k if what == "t" else 1
    made = np.empty((*x.shape[:-1], size), INT64)
    k = k if isinstance(k, int) else np.ascontiguousarray(k, INT64)
    return None if native.select_rows(contiguous(x), made, what, k, descending, sorted) is None else made


def choose(x: Any, what: str, k: int, axis: int, keepdim: bool, descending: bool = False, sorted: bool = True) -> Any:
    """Elements and positions along a dimension in one step, by the letters of `select_rows`, s for all in order and M for the
    commonest; None where nothing is compiled, for arrays with gaps, and for medians and modes of arrays with NaN."""
    return None if native is None else native.choose(x, what, k, descending, sorted, axis, keepdim)


def bisect(bounds: Any, x: Any, right: bool) -> Any:
    """`search_rows` for numbers that may be NaN: one goes to the last place, and the search never stops before one."""
    xp = lean.namespace_of(x)
    first, last = xp.zeros(x.shape, INT64), xp.full(x.shape, bounds.shape[-1], INT64)
    while (first < last).any():
        middle = (first + last) >> 1
        there = xp.minimum(middle, bounds.shape[-1] - 1)
        found = bounds[there] if bounds.ndim == 1 else xp.take_along_axis(bounds, there, -1)
        on = ~(found > x if right else found >= x)
        first, last = xp.where(on & (first < last), middle + 1, first), xp.where(on | (first >= last), last, middle)
    return first


def search_rows(bounds: Any, x: Any, right: bool) -> Any:
    """The insertion position of each of `x` in sorted `bounds`: one row for all, or one for each row of `x`."""
    if native is not None and (x.ndim or bounds.ndim == 1):
        values = x if x.ndim else x.reshape(1)
        made = np.empty(values.shape, INT64)
        if native.search_rows(np.ascontiguousarray(bounds), contiguous(values), made, right) is not None:
            return made if x.ndim else made.reshape(())
    side: Any = "right" if right else "left"
    isnan = lean.namespace_of(x).isnan
    if bounds.dtype.kind == "f" and (isnan(bounds).any() or isnan(x).any()):
        return bisect(bounds, x, right)
    if bounds.ndim == 1:
        return lean.namespace_of(x).asarray(bounds.searchsorted(x, side))
    made = np.empty(x.shape, INT64)
    for row in np.ndindex(bounds.shape[:-1]):
        made[row] = np.searchsorted(bounds[row], x[row], side)
    return made
