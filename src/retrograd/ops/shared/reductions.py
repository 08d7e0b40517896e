"""Shared parts of reductions, scans and sorts: dimensions, accurate sums, error texts, gradients, batching."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.copying import converted
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.kernels import FLOAT32, HALVES
from retrograd.core.opdef import OpDef
from retrograd.ops import late
from retrograd.ops.shared.families import anywhere, fill_zeros, move_to_front, wrap_dim, wrap_dims

INT64 = np.dtype(np.int64)
FLOAT64 = np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)
BLOCK = 128      # float32 numbers added sequentially per partial sum


# ---- dimensions
def axes_of(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce; None and () mean all of them."""
    if dim is None or not len(dim):
        return tuple(range(ndim))
    axes = wrap_dims(dim, ndim)
    return axes if ndim else ()


def reduced_count(shape: Any, axes: Any) -> int:
    count = 1
    for axis in axes:
        count *= shape[axis]
    return count


def as_row(array: Any) -> Any:
    """0-d arrays as arrays of one dimension, for kernels that work along a dimension."""
    return array.reshape(1) if array.ndim == 0 else array


def dense(array: Any) -> Any:
    """The array in row-major order, as results of reductions are."""
    if isinstance(array, np.generic):
        array = np.asarray(array)
    if not array.flags.c_contiguous:
        return array.copy(order="C")
    # NumPy leaves arbitrary strides to dimensions of size 1.
    return array.reshape(-1).reshape(array.shape) if 1 in array.shape else array


# ---- dtypes
def legacy(array: Any) -> str:
    """PyTorch's legacy name for the array's dtype, for error texts."""
    return BY_NUMPY[array.dtype].legacy


def is_half(array: Any) -> bool:
    return array.dtype in HALVES


def wide(array: Any) -> Any:
    """Half precision as float32; other dtypes unchanged."""
    return converted(array, FLOAT32) if array.dtype in HALVES else array


def accumulating(dtype: Any) -> Any:
    """The dtype in which running sums of `dtype` are kept."""
    if dtype in HALVES:
        return FLOAT32
    return FLOAT64 if dtype == FLOAT32 else COMPLEX128 if dtype == COMPLEX64 else dtype


def is_integral(array: Any) -> bool:
    return array.dtype.kind in "iub"


def refuse(kernel: str, array: Any, kinds: str) -> None:
    """Raise for a dtype whose NumPy kind is in `kinds`, unsupported by the kernel."""
    if array.dtype.kind in kinds:
        raise NotImplementedError(f'"{kernel}" not implemented for \'{legacy(array)}\'')


def lacking(text: str) -> NotImplementedError:
    """The error for an unsupported dtype that is checked before everything else."""
    error = NotImplementedError(text)
    error.first = True  # type: ignore[attr-defined]
    return error


def need_elements(name: str, array: Any, axis: int) -> None:
    if array.ndim and array.shape[axis] == 0:
        raise IndexError(f"{name}: Expected reduction dim {axis} to have non-zero size.")


# ---- sums
def total(xp: Any, x: Any, axes: tuple[int, ...], keepdim: bool = False) -> Any:
    """The sum over `axes`; long float32 sums use partial sums to limit rounding errors."""
    if x.dtype in (FLOAT32, COMPLEX64) and x.size > 4 * BLOCK and axes:
        if len(axes) == x.ndim:
            return xp.add.reduce(dense(x).reshape(-1)).reshape((1,) * x.ndim if keepdim else ())
        for axis in sorted(axes, reverse=True):
            x = total_along(xp, x, axis)
        return dense(x if keepdim else x.reshape([n for i, n in enumerate(x.shape) if i not in axes]))
    return dense(xp.add.reduce(x, axes, keepdims=keepdim))


def total_along(xp: Any, x: Any, axis: int) -> Any:
    """The sum along one dimension, which stays with size 1."""
    while x.shape[axis] > BLOCK and x.strides[axis] != x.itemsize:
        x = xp.add.reduceat(x, xp.arange(0, x.shape[axis], BLOCK), axis)
    return xp.add.reduce(x, axis, keepdims=True)


# ---- gradients
def unsqueeze_all(t: Any, dim: Any, ndim: int) -> Any:
    """`t` with dimensions of size 1 where `dim` were reduced."""
    if dim is None or ndim == 0:
        return t
    for axis in sorted([wrap_dim(d, ndim) for d in dim]):
        t = t.unsqueeze(axis)
    return t


def restore_dims(t: Any, dim: Any, keepdim: bool, shape: Any) -> Any:
    """The result of a reduction (of all dimensions if `dim` is empty) in a shape that broadcasts against its input."""
    if keepdim or not shape:
        return t
    axes = axes_of(dim, len(shape))
    return t.reshape(tuple([1 if i in axes else n for i, n in enumerate(shape)]))


def spread_sum(grad: Any, shape: Any, dim: Any, keepdim: bool) -> Any:
    """The gradient of a sum, the same for every element."""
    if not keepdim and shape and dim:
        grad = unsqueeze_all(grad, dim, len(shape))
    return grad.expand(shape)


def equal_to(self: Any, result: Any) -> Any:
    """The mask of elements equal to the result, with NaN equal to NaN."""
    if not anywhere(result.isnan()):
        return self == result
    return late.where(result.isnan(), self.isnan(), self == result)


def spread_evenly(grad: Any, self: Any, result: Any) -> Any:
    """The gradient of a full reduction that selects a value: shared by all elements equal to it."""
    mask = equal_to(self, result)
    return grad.new_zeros(self.shape, dtype=self.dtype).masked_fill(mask, grad / mask.sum())


def read_evenly(self_t: Any, self_p: Any, result: Any) -> Any:
    """The tangent of a full reduction that selects a value: the mean over all elements equal to it."""
    mask = equal_to(self_p, result)
    return (mask * self_t).sum() / mask.sum()


def spread_selected(grad: Any, dim: int, indices: Any, sizes: Any, keepdim: bool) -> Any:
    """The gradient of a reduction that selects one element along `dim`: all of it goes there."""
    if not keepdim and len(sizes):
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return fill_zeros(grad, sizes, 1, "scatter", dim, indices, grad)


def read_selected(self_t: Any, dim: int, indices: Any, keepdim: bool) -> Any:
    """The tangent of a reduction that selects one element along `dim`."""
    if self_t.ndim == 0:
        return self_t
    if keepdim:
        return self_t.gather(dim, indices)
    return self_t.gather(dim, indices.unsqueeze(dim)).squeeze(dim)


# ---- batching
def along_dim(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule for ops of one tensor along `dim`; without it they reduce all dimensions."""
    x = move_to_front(args[0], dims[0])
    scalar = x.ndim == 1
    if scalar:
        x = x.unsqueeze(1)
    moved = [x, *args[1:]]
    for i, p in enumerate(op.schema.params):
        if p.name == "dim":
            moved[i] = shifted(args[i], x.ndim - 1)
    result = call(op, moved)
    if not op.multiple:
        return trimmed(result, scalar), 0
    return tuple([trimmed(r, scalar) for r in result]), (0,) * len(result)


def shifted(dim: Any, rank: int) -> Any:
    """Dimensions of one example counted in the batch."""
    if isinstance(dim, int):
        return wrap_dim(dim, rank) + 1
    return tuple([axis + 1 for axis in axes_of(dim, rank)])


def trimmed(result: Any, scalar: bool) -> Any:
    """Remove the dimension that was added to a 0-d example."""
    return result.squeeze(1) if scalar and result.ndim == 2 else result


def flattened(target: Any) -> Any:
    """The rule for full reductions: `target`, the op's form with `dim`, along all dimensions (as one if it takes only one)."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        x = move_to_front(args[0], dims[0])
        takes_list = target.schema.params[1].is_list
        x = x.unsqueeze(1) if x.ndim == 1 else x if takes_list else x.flatten(1)
        values = [x, tuple(range(1, x.ndim)) if takes_list else 1]
        for p in target.schema.params[2:]:
            values.append(next((a for a, q in zip(args, op.schema.params, strict=True) if q.name == p.name), p.default))
        result = call(target, values)
        return result[0] if target.multiple else result, 0
    return rule
