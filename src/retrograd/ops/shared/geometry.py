"""Sizes and strides without tensors: the shapes and strides of views, as arrays."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage

BY_NUMPY = dtypes.BY_NUMPY
LEGACY_TENSORS = ("Byte", "Char", "Double", "Float", "Int", "Long", "Short", "Half")


def infer_size(shape: Any, count: int) -> tuple[int, ...]:
    """`shape` with its -1 replaced by what makes `count` elements."""
    known = 1
    unknown = -1
    for i, n in enumerate(shape):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if unknown < 0:
        if known != count:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
        return tuple(shape)
    if known == 0 and count == 0:
        raise RuntimeError(f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                           "dimension size -1 can be any value and is ambiguous")
    if known == 0 or count % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {count}")
    return (*shape[:unknown], count // known, *shape[unknown + 1:])


def view_strides(shape: Any, strides: Any, new: Any) -> tuple[int, ...] | None:
    """The strides of a view in another shape; None if that needs a copy."""
    if 0 in shape:
        return strides if tuple(shape) == tuple(new) else storage.contiguous_strides(new)
    if not shape:
        return (1,) * len(new)
    result = [0] * len(new)
    position = len(new) - 1
    base = strides[-1]
    chunk = seen = 1
    for d in range(len(shape) - 1, -1, -1):
        chunk *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != chunk * base):
            while position >= 0 and (seen < chunk or new[position] == 1):
                result[position] = seen * base
                seen *= new[position]
                position -= 1
            if seen != chunk:
                return None
            if d > 0:
                base = strides[d - 1]
                chunk = seen = 1
    return tuple(result) if position == -1 else None


def is_plain(array: Any) -> bool:
    """Whether NumPy's reshape of `array` gives PyTorch's strides: contiguous, without sizes of 0 or 1."""
    return array.flags.c_contiguous and array.size > 0 and 1 not in array.shape


def viewed(array: Any, size: Any) -> Any:
    """`array` in another shape, given with all its sizes."""
    if array.flags.c_contiguous and array.size > 0 and 1 not in array.shape:
        return array.reshape(size)
    strides = view_strides(array.shape, storage.strides_of(array), size)
    if strides is None:
        raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                           "spans across two contiguous subspaces). Use .reshape(...) instead.")
    return storage.strided(array, size, strides)


def permuted(array: Any, axes: Any) -> Any:
    if array.size:
        return array.transpose(axes)
    strides = storage.strides_of(array)      # NumPy's strides of empty arrays are arbitrary
    return storage.strided(array, [array.shape[i] for i in axes], [strides[i] for i in axes])


def swapped(array: Any, a: int, b: int) -> Any:
    if array.size:
        return array.swapaxes(a, b)
    axes = list(range(array.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return permuted(array, axes)


def without_dims(array: Any, dims: Any) -> Any:
    """`array` without the given dimensions, all of size 1."""
    if not dims:
        return array[...]
    if array.size:
        return array.squeeze(dims)
    strides = storage.strides_of(array)
    kept = [i for i in range(array.ndim) if i not in dims]
    return storage.strided(array, [array.shape[i] for i in kept], [strides[i] for i in kept])


def with_dim(array: Any, dim: int) -> Any:
    """`array` with a dimension of size 1 inserted."""
    shape = array.shape
    if is_plain(array):
        return array.reshape(*shape[:dim], 1, *shape[dim:])
    strides = storage.strides_of(array)
    step = shape[dim] * strides[dim] if dim < len(shape) else 1
    return storage.strided(array, (*shape[:dim], 1, *shape[dim:]), (*strides[:dim], step, *strides[dim:]))


def expanded(array: Any, size: Any) -> Any:
    """`array` broadcast to `size`, in which -1 keeps a dimension."""
    ndim = array.ndim
    if ndim == 0 and array.dtype.kind != "V" and size and min(size) > 0:      # one expanded value, as in the gradient of a sum
        return np.ndarray(tuple(size), array.dtype, array, 0, (0,) * len(size))
    if len(size) < ndim:
        legacy = BY_NUMPY[array.dtype].legacy
        kind = f"torch.{legacy}Tensor" if legacy in LEGACY_TENSORS else f"CPU{legacy}Type"
        raise RuntimeError(f"expand({kind}{{{list(array.shape)}}}, size={list(size)}): the number of sizes provided "
                           f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({ndim})")
    strides = storage.strides_of(array)
    shape, steps = list(size), [0] * len(size)
    extra = len(size) - ndim
    for i in range(len(size) - 1, -1, -1):
        n = size[i]
        have = array.shape[i - extra] if i >= extra else 1
        step = strides[i - extra] if i >= extra else (shape[i + 1] * steps[i + 1] if i + 1 < len(size) else 0)
        if n == -1:
            if i < extra:
                raise RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing "
                                   f"dimension {i}")
            n = have
        if n != have:
            if have != 1:
                raise RuntimeError(f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                                   f"non-singleton dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: "
                                   f"{list(array.shape)}")
            step = 0
        shape[i], steps[i] = n, step
    if any([n < 0 for n in shape]):
        raise RuntimeError("numel: integer multiplication overflow")
    return storage.strided(array, shape, steps)


def strided(array: Any, size: Any, stride: Any, offset: Any) -> Any:
    """An array of any geometry over the same memory."""
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    for s in stride:
        if s < 0:
            raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: "
                               f"{list(stride)}")
    if offset is not None and offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    for n in size:
        if n < 0:
            raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    return storage.strided(array, size, stride, offset)


def selected(array: Any, dim: int, index: int) -> Any:
    """One position of a dimension; both are counted from the front."""
    if array.size:
        return array[(*(slice(None),) * dim, index, ...)]
    strides = storage.strides_of(array)
    return storage.strided(array, (*array.shape[:dim], *array.shape[dim + 1:]), (*strides[:dim], *strides[dim + 1:]),
                           storage.offset_of(array) + index * strides[dim])


def sliced(array: Any, dim: int, start: int, end: int, step: int) -> Any:
    """A range of a dimension, its bounds counted from the front and inside it."""
    if array.size and start < end:
        return array[(*(slice(None),) * dim, slice(start, end, step))]
    shape, strides = list(array.shape), list(storage.strides_of(array))
    offset = storage.offset_of(array) + start * strides[dim]
    shape[dim] = -(-(end - start) // step)
    strides[dim] *= step
    return storage.strided(array, shape, strides, offset)


def slice_bounds(size: int, start: Any, end: Any) -> tuple[int, int]:
    """The bounds of a slice of a dimension, counted from the front and clamped to it."""
    start = 0 if start is None else start
    end = size if end is None else end
    start = start + size if start < 0 else start
    end = end + size if end < 0 else end
    start = 0 if start < 0 else min(start, size)
    return start, start if end < start else min(end, size)


def diagonal(array: Any, offset: int, dim1: int, dim2: int) -> Any:
    """The elements at (i, i + offset) of two dimensions, as the last dimension of the result."""
    shape, strides = array.shape, storage.strides_of(array)
    rows, columns = shape[dim1], shape[dim2]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    if length and offset:
        array = sliced(array, dim2, offset, columns, 1) if offset > 0 else sliced(array, dim1, -offset, rows, 1)
    kept = [i for i in range(array.ndim) if i not in (dim1, dim2)]
    return storage.strided(array, [*[shape[i] for i in kept], length],
                           [*[strides[i] for i in kept], strides[dim1] + strides[dim2]])


def windows(array: Any, dim: int, size: int, step: int) -> Any:
    """All ranges of `size` positions of a dimension, `step` apart, as a new last dimension."""
    if array.ndim == 0:
        return storage.strided(array, (size,), (1,))
    shape, strides = list(array.shape), list(storage.strides_of(array))
    count, last = (shape[dim] - size) // step + 1, strides[dim]
    shape[dim] = count
    strides[dim] *= step
    return storage.strided(array, (*shape, size), (*strides, last))


# ---- copies with a given layout
def clone_preserving_strides(array: Any) -> Any:
    """A copy over a copy of the whole memory, so that strides and offset are the same."""
    shape, strides = array.shape, storage.strides_of(array)
    if any([s == 0 and n > 1 for n, s in zip(shape, strides, strict=True)]):
        return array.copy()
    memory = storage.bytes_of(storage.owner_of(array)).copy()
    made = memory[:memory.nbytes // array.itemsize * array.itemsize].view(array.dtype)
    return storage.strided(made, shape, strides, storage.offset_of(array))


def channels_last_like(array: Any) -> bool:
    """Whether a batch of images (or volumes) is channels-last, also where sizes of 1 make it ambiguous."""
    if array.ndim not in (4, 5):
        return False
    shape, strides = array.shape, storage.strides_of(array)
    if strides[1] == 0:
        return False
    least = 0
    for d in (1, *range(array.ndim - 1, 1, -1), 0):
        if shape[d] == 0 or strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def new_beside(array: Any, shape: Any, strides: Any, dtype: Any) -> Any:
    """A new array with the given strides, in elements, on the device of `array`."""
    if isinstance(array, np.ndarray):
        return storage.empty_strided(shape, strides, dtype)
    xp = lean.namespace_of(array)
    reach = 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])
    if 0 not in shape and reach != math.prod(shape):              # with gaps
        return xp.lib.stride_tricks.as_strided(xp.empty(reach, dtype), shape, [s * np.dtype(dtype).itemsize for s in strides])
    outer_first = sorted(range(len(shape)), key=lambda d: (-strides[d], d))
    made = xp.empty([shape[d] for d in outer_first], dtype)
    return made.transpose(sorted(range(len(shape)), key=outer_first.__getitem__))


def new_in_format(array: Any, shape: Any, channels_last: bool) -> Any:
    """A new array of the dtype and on the device of `array`, contiguous or with its channels innermost."""
    if not channels_last:
        return lean.namespace_of(array).empty(shape, array.dtype)
    order = [0, *range(2, len(shape)), 1]
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= max(shape[d], 1)
    return new_beside(array, shape, strides, array.dtype)


def check_overlap(shape: Any, strides: Any) -> bool:
    """Whether elements may overlap in memory: False only if the strides exclude it."""
    dims = sorted([(s, n) for n, s in zip(shape, strides, strict=True) if n > 1])
    reach = 0
    for s, n in dims:
        if s <= reach:
            return True
        reach += s * (n - 1)
    return False


def reinterpreted(array: Any, dtype: Any, shape: Any, strides: Any) -> Any:
    """The same memory read as another dtype."""
    if array.size and 1 not in array.shape and array.flags.c_contiguous and array.ndim:
        made = array.view(dtype)
        if made.shape == tuple(shape):
            return made
    owner = storage.owner_of(array)
    item, start = dtype.itemsize, min(storage.address(array) - storage.address(owner), owner.nbytes)
    made = np.ndarray(tuple(shape), dtype, storage.bytes_of(owner), start, tuple([s * item for s in strides]))
    if not array.flags.writeable:
        made.flags.writeable = False
    return made
