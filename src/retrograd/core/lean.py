"""Faster forms of some NumPy functions for arguments that are known to be valid.

NumPy implements these in Python for arguments of any kind and takes 1 to 5 microseconds where the array's own methods take
a tenth. Invalid arguments go to NumPy, which raises.
"""
from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.core.algorithms import native
from retrograd.core.opdef import OpDef

if TYPE_CHECKING:
    from retrograd.core.graph import Node

BACKWARDS = slice(None, None, -1)
ARRAYS: set[type] = {np.ndarray}        # classes with all attributes of an array; the plain core adds the one that records


def natively(op: OpDef, *args: Any) -> Any:
    """The result of an op's compiled kernel; None if there is none for these arrays."""
    if not op._ready:
        op.prepare()
    return None if op.native is None else op.native(*args)


def spread(function: Any, values: list[Any]) -> Any:
    """`function(*values)`; compiled code makes the call without a tuple (see probe.pyx)."""
    return function(*values)


def spread_with(function: Any, first: Any, args: Any) -> Any:
    """`function(first, *args[1:])`; compiled code makes the call without a tuple (see probe.pyx)."""
    return function(first, *args[1:])


def rest_of(args: Any) -> tuple[Any, ...]:
    """`tuple(args[1:])`; compiled code makes no list in between (see probe.pyx).

    >>> rest_of([1, 2, 3]), rest_of(())
    ((2, 3), ())
    """
    return tuple(args[1:])


def has_shape(array: np.ndarray, shape: Sequence[int]) -> bool:
    """Whether an array has this shape; compiled code compares without making a tuple (see probe.pyx).

    >>> has_shape(np.zeros((2, 3)), (2, 3))
    True
    """
    return bool(array.shape == shape)


def pooled(cls: type) -> type:
    """The class of a kind of node; compiled code reuses the memory of its instances (see probe.pyx)."""
    return cls


def own_fields(cls: type) -> None:
    """Compiled code lets the garbage collector see through containers that nodes of this class own (see probe.pyx)."""


def untrack_fields(node: Node) -> None:
    """Compiled code takes the containers that a node owns out of the garbage collector (see probe.pyx)."""


def new_instance(cls: Any) -> Node:
    """A new node with all fields None or 0, except those that `record.new_node` sets."""
    node = cls.__new__(cls)
    node._nrs_ = node._shape_ = node._dtype_ = node._saved_ = node._versions_ = node._attrs_ = node._leaves_ = None
    node._hooks_ = node._metadata_ = None
    node._mark_ = node._waits_ = 0
    return node


def moveaxis(array: np.ndarray, source: int, destination: int) -> np.ndarray:
    """The array with one dimension moved.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    ndim = array.ndim
    first = source + ndim if source < 0 else source
    second = destination + ndim if destination < 0 else destination
    if not (0 <= first < ndim and 0 <= second < ndim):
        return np.moveaxis(array, source, destination)
    if first == second:
        return array
    order = list(range(ndim))
    order.insert(second, order.pop(first))
    return array.transpose(order)


def namespace_of(array: np.ndarray) -> Any:
    """The array namespace (`xp`) of an array: NumPy's, or that of its device.

    >>> namespace_of(np.ones(3)) is np
    True
    """
    return np if isinstance(array, (np.ndarray, np.generic)) or not hasattr(array, "__array_namespace__") else (
        array.__array_namespace__())


def broadcast_to(array: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """A broadcast view of the array.

    >>> broadcast_to(np.ones(3), (2, 3)).strides[0]
    0
    """
    if isinstance(array, np.ndarray):
        made = expanded(array, shape) if native is None else native.expanded(array, shape)
        if made is not None:
            return made
    return namespace_of(array).broadcast_to(array, shape)


def expanded(array: np.ndarray, shape: Sequence[int]) -> np.ndarray | None:
    """A read-only broadcast view of a contiguous array, for which NumPy's own function takes five times as long; None if the
    array is not contiguous or the shape does not fit."""
    if not array.flags.c_contiguous or not array.size or array.dtype.kind == "V" or len(shape) < array.ndim:
        return None
    steps = [0] * (len(shape) - array.ndim)
    for n, m, step in zip(array.shape, shape[len(steps):], array.strides, strict=True):
        if n != m and n != 1:
            return None
        steps.append(step if n == m else 0)
    made = np.ndarray(shape, array.dtype, array, 0, steps)
    made.flags.writeable = False
    return made


def broadcast_shapes(first: tuple[int, ...], second: tuple[int, ...] = (), *others: Any) -> tuple[Any, ...]:
    """The broadcast shape of several shapes.

    >>> broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    if not others and (first == second or not second):
        return first
    joint = list(first)
    for shape in (second, *others):
        if len(shape) > len(joint):
            joint[:0] = [1] * (len(shape) - len(joint))
        for i in range(-len(shape), 0):
            if joint[i] == 1:
                joint[i] = shape[i]
            elif shape[i] != 1 and shape[i] != joint[i]:
                return np.broadcast_shapes(first, second, *others)
    return tuple(joint)


def within(array: np.ndarray, low: int, high: int) -> bool:
    """Whether all elements of an array of integers are at least `low` and below `high`.

    >>> within(np.array([0, 2]), 0, 2)
    False
    """
    inside = native.within(array, low, high) if native is not None else None
    return not array.size or bool(array.min() >= low and array.max() < high) if inside is None else inside


def is_sorted(vector: np.ndarray) -> bool:
    """Whether no element of a vector of integers is smaller than the one before it.

    >>> is_sorted(np.array([1, 1, 2])), is_sorted(np.array([2, 1]))
    (True, False)
    """
    if len(vector) > 256:
        return not (vector[1:] < vector[:-1]).any()
    values = vector.tolist()
    return bool(values == sorted(values))


def expand_dims(array: np.ndarray, axis: int) -> np.ndarray:
    """The array with one more dimension, of size 1.

    >>> expand_dims(np.ones(3), 0).shape
    (1, 3)
    """
    if type(axis) is not int:
        return np.expand_dims(array, axis)
    where = axis + array.ndim + 1 if axis < 0 else axis
    if not 0 <= where <= array.ndim:
        return np.expand_dims(array, axis)
    return array[(slice(None),) * where + (None,)]


@lru_cache(maxsize=256)
def flat_places(sizes: Sequence[int], shape: Sequence[int], axis: int) -> tuple[Any, int]:
    """The places of the elements at position 0 of `axis`, for an index of this shape into a contiguous array of these sizes,
    and the step of a position."""
    steps = [math.prod(sizes[d + 1:]) for d in range(len(sizes))]
    made = np.zeros((1,) * len(shape), np.int64)
    for d, n in enumerate(shape):
        if d != axis:
            made = made + (np.arange(n) * steps[d]).reshape([-1 if k == d else 1 for k in range(len(shape))])
    return made, steps[axis]


FEW = 4096


def places_along(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """The places in a contiguous array, as one row, of the elements at positions along a dimension, which must be counted from
    the front; the other dimensions of the index are not larger than the array's."""
    base, step = flat_places(array.shape, index.shape, axis)
    return base + index if step == 1 else base + index * step


def take_along(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """`take_along_axis` for positions of all dimensions, counted from the front and within range.

    >>> take_along(np.array([[1, 2], [3, 4]]), np.array([[1], [0]]), -1).tolist()
    [[2], [3]]
    """
    axis = axis + array.ndim if axis < 0 else axis
    if type(array) not in ARRAYS or index.ndim != array.ndim or index.size > FEW or not array.flags.c_contiguous or any(
            [n != m for d, (n, m) in enumerate(zip(array.shape, index.shape, strict=True)) if d != axis]):
        return namespace_of(array).take_along_axis(array, index, axis)
    return array.reshape(-1).take(places_along(array, index, axis))


def zero_padded(array: np.ndarray, padding: Sequence[Any]) -> np.ndarray:
    """A new array with zeros on both sides of the last dimensions.

    >>> zero_padded(np.ones((1, 2)), [1]).tolist()
    [[0.0, 1.0, 1.0, 0.0]]
    """
    lead = array.ndim - len(padding)
    if type(array) not in ARRAYS:
        return namespace_of(array).pad(array, [(0, 0)] * lead + [(p, p) for p in padding])
    made = np.zeros((*array.shape[:lead], *[n + 2 * p for n, p in zip(array.shape[lead:], padding, strict=True)]), array.dtype)
    inside: Any = (..., *[slice(p, p + n) for n, p in zip(array.shape[lead:], padding, strict=True)])
    made[inside] = array
    return made


def strided(array: np.ndarray, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """An array over the memory of another one, by strides in bytes that stay inside it; not to be written to."""
    if type(array) is np.ndarray and array.flags.c_contiguous and array.dtype.isbuiltin:
        return np.ndarray(shape, array.dtype, array, 0, strides)
    return namespace_of(array).lib.stride_tricks.as_strided(array, shape, strides, writeable=False)


def zeros_like(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Zeros in the array's shape and memory order.

    >>> zeros_like(np.ones((2, 2)).T).tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    if type(array) not in ARRAYS or not array.flags.c_contiguous:
        return namespace_of(array).zeros_like(array, dtype=dtype)
    return np.zeros(array.shape, array.dtype if dtype is None else dtype)


def ones(shape: Any, dtype: Any = None) -> np.ndarray:
    """Ones in row-major order.

    >>> ones((1, 2)).tolist()
    [[1.0, 1.0]]
    """
    made = np.empty(shape, dtype)
    made.fill(1)
    return made


def full(shape: Any, value: Any, dtype: Any = None) -> np.ndarray:
    """An array of one value.

    >>> full(2, 7, np.dtype(np.int64)).tolist()
    [7, 7]
    """
    if dtype is None:
        return np.full(shape, value)
    made = np.empty(shape, dtype)
    np.copyto(made, value, casting="unsafe")
    return made


def stack(arrays: Sequence[Any], axis: int = 0) -> np.ndarray:
    """Arrays of one shape as one, along a new dimension.

    >>> stack([np.zeros(2), np.ones(2)], 1).shape
    (2, 2)
    """
    return namespace_of(arrays[0]).concatenate([expand_dims(a, axis) for a in arrays], axis)


def flip(array: np.ndarray, axis: Any) -> np.ndarray:
    """The array reversed along one or several dimensions.

    >>> flip(np.arange(3), 0).tolist()
    [2, 1, 0]
    """
    picks = [slice(None)] * array.ndim
    for each in (axis,) if type(axis) is int else axis:
        if not -array.ndim <= each < array.ndim:
            return np.flip(array, axis)
        picks[each] = BACKWARDS
    return array[tuple(picks)]
