"""Tensors of one value, of no value, and identity matrices, with their `_like` and `new_` forms."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import lean, storage
from retrograd.core.deterministic import uninitialized
from retrograd.core.device import CPU
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor
from retrograd.ops.create.elements import (
    check_size,
    check_strides,
    default,
    filled,
    is_small_number,
    number_dtype,
    plain_size,
    put_number,
    simply_filled,
)
from retrograd.ops.create.factory import factory
from retrograd.ops.memory.copy import channels_last_strides, format_strides, meta_array, strided
from retrograd.ops.shared import families

LONG = np.dtype(np.int64)
SIZE, NEW_SIZE = "SymInt[] size", "Tensor self, SymInt[] size"


# ---- of a size
def zeros_kernel(xp: Any, size: Any, dtype: Any) -> Any:
    if any([n < 0 for n in size]):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return xp.zeros(size, dtype or default())


def ones_kernel(xp: Any, size: Any, dtype: Any) -> Any:
    check_size(size)
    return lean.ones(size, dtype or default())


def empty_kernel(xp: Any, size: Any, dtype: Any, memory_format: Any) -> Any:
    check_size(size)
    dtype = dtype or default()
    if memory_format is None or memory_format.name == "contiguous_format":
        return uninitialized(xp.empty(size, dtype))
    if memory_format.name == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve\nThere is no tensor whose format could be kept.")
    rank = 4 if memory_format.name == "channels_last" else 5
    if len(size) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format\nThe size is {list(size)}.")
    return uninitialized(storage.empty_strided(size, channels_last_strides(size), dtype))


def full_kernel(xp: Any, size: Any, fill_value: Any, dtype: Any) -> Any:
    check_size(size)
    return filled(xp.empty(size, dtype or number_dtype(fill_value)), fill_value)


def empty_strided_kernel(xp: Any, size: Any, stride: Any, dtype: Any) -> Any:
    check_strides(size, stride)
    return uninitialized(storage.empty_strided(size, stride, dtype or default()))


def strides_by_layout(size: Any, layout: Any) -> tuple[int, ...]:
    """The strides of dense memory in which the dimensions lie in the given order, the outermost first."""
    if len(size) != len(layout):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(layout)}")
    strides, step = [0] * len(size), 1
    for i in range(len(size) - 1, -1, -1):
        d = layout[i]
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index "
                               f"{i}).  NB: negative dims not currently supported; file an issue if you want it.")
        if d in layout[i + 1:]:
            raise RuntimeError("Duplicate dim not allowed")
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


def eye_kernel(xp: Any, n: int, m: int, dtype: Any) -> Any:
    if dtype is not None and dtype.kind == "W":
        raise NotImplementedError("\"eye\" not implemented for 'ComplexHalf'")
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    made = xp.zeros((n, m), dtype or default())
    if made.size:
        made.reshape(-1)[:min(n, m) * (m + 1):m + 1] = 1
    return made


def sized_meta(xp: Any, size: Any, dtype: Any) -> Any:
    check_size(size)
    return meta_array(size, storage.contiguous_strides(size), dtype or default())


def fast_zeros(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    return None if size is None else np.zeros(size, default() if dtype is None else dtype.numpy)


def fast_ones(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    if size is None:
        return None
    array = np.empty(size, default() if dtype is None else dtype.numpy)
    array.fill(1)
    return array


def fast_empty(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    return None if size is None else uninitialized(np.empty(size, default() if dtype is None else dtype.numpy))


def fast_full(args: Any, dtype: Any) -> Any:
    if len(args) != 2 or not is_small_number(args[1]) or type(args[0]) is int:
        return None
    size = plain_size(args[:1])
    if size is None:
        return None
    wanted = dtype.numpy if dtype is not None else default() if type(args[1]) is float else LONG
    return simply_filled(np.empty(size, wanted), args[1])


def fast_scalar_tensor(args: Any, dtype: Any) -> Any:
    if len(args) != 1 or not is_small_number(args[0]):
        return None
    return simply_filled(np.empty((), default() if dtype is None else dtype.numpy), args[0])


def fast_eye(args: Any, dtype: Any) -> Any:
    count = len(args)
    if count == 0 or count > 2 or type(args[0]) is not int or type(args[-1]) is not int or args[0] <= 0 or args[-1] <= 0:
        return None
    columns = args[-1]
    made = np.zeros((args[0], columns), default() if dtype is None else dtype.numpy)
    made.ravel()[:min(args[0], columns) * (columns + 1):columns + 1] = 1
    return made


def fast_empty_strided(args: Any, dtype: Any) -> Any:
    """`empty_strided` for dense row- or column-major strides."""
    if len(args) != 2 or type(args[0]) is int or type(args[1]) is int:
        return None
    size, stride = plain_size(args[:1]), plain_size(args[1:])
    if size is None or stride is None or len(size) != len(stride) or 0 in size:
        return None
    for order in ("C", "F"):
        made = np.empty(size, default() if dtype is None else dtype.numpy, order)
        if storage.strides_of(made) == tuple(stride):
            return uninitialized(made)
    return None


factory("zeros", ("", SIZE, zeros_kernel), fast=fast_zeros, meta=sized_meta, steps=("zero_.default",),
    doc="""A tensor of zeros.
    >>> torch.zeros(2)
    tensor([0., 0.])
    """)
factory("ones", ("", SIZE, ones_kernel), fast=fast_ones, meta=sized_meta, steps=("fill_.Scalar", 1.0),
    doc="""A tensor of ones.
    >>> torch.ones(2, 2)
    tensor([[1., 1.],
            [1., 1.]])
    """)
factory("empty", ("memory_format", SIZE, empty_kernel), fast=fast_empty, memory_format=True, out_form="out",
    meta=lambda xp, size, dtype, memory_format: sized_meta(xp, size, dtype),
    doc="""A tensor with whatever is in memory.
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """)
factory("full", ("", f"{SIZE}, Scalar fill_value", full_kernel), fast=fast_full,
    meta=lambda xp, size, fill_value, dtype: sized_meta(xp, size, dtype or number_dtype(fill_value)),
    doc="""A tensor of one value.
    >>> torch.full((2,), 7.0)
    tensor([7., 7.])
    """)
factory("empty_strided", ("", f"{SIZE}, SymInt[] stride", empty_strided_kernel), fast=fast_empty_strided, out=False,
        meta=lambda xp, size, stride, dtype: (check_strides(size, stride), meta_array(size, stride, dtype or default()))[1])
factory("empty_permuted",
        ("", f"{SIZE}, int[] physical_layout", lambda xp, size, physical_layout, dtype: uninitialized(
            storage.empty_strided(size, strides_by_layout(size, physical_layout), dtype or default()))), out=False,
        meta=lambda xp, size, physical_layout, dtype: meta_array(
            size, strides_by_layout(size, physical_layout), dtype or default()))
factory("eye", ("", "SymInt n", lambda xp, n, dtype: eye_kernel(xp, n, n, dtype)), ("m", "SymInt n, SymInt m", eye_kernel),
        fast=fast_eye,
    doc="""A matrix with ones on the diagonal.
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """)
scalar_tensor, = factory("scalar_tensor", ("", "Scalar s", lambda xp, s, dtype: filled(xp.empty((), dtype or default()), s)),
                         fast=fast_scalar_tensor, out=False)


def number_tensor(number: Any, dtype: Any) -> Any:
    """The tensor that stands for a number in a call that modes see."""
    return call(scalar_tensor, [number, dtype, strided, CPU, None])


hooks.scalar_tensor = number_tensor


# ---- like another tensor
def like_kernel(made: Any) -> Any:
    def kernel(xp: Any, self: Any, dtype: Any, memory_format: Any) -> Any:
        return like_array(self, dtype, memory_format, made)
    return kernel


def empty_like_kernel(xp: Any, self: Any, dtype: Any, memory_format: Any) -> Any:
    return uninitialized(like_array(self, dtype, memory_format, np.empty))


def ones_array(shape: Any, dtype: Any) -> Any:
    array = np.empty(shape, dtype)
    put_number(array, 1)
    return array


def like_array(self: Any, dtype: Any, memory_format: Any, made: Any) -> Any:
    """An array with the geometry of `self`; `made(shape, dtype)` creates it where the layout is contiguous."""
    dtype = dtype or self.dtype
    if memory_format is None and self.size and 0 not in self.strides:
        if self.flags.c_contiguous:
            return made(self.shape, dtype)
        array = permuted_like(self, made) if dtype is self.dtype else None
        if array is not None:
            return array
    strides = format_strides(self, memory_format)
    if strides == storage.contiguous_strides(self.shape):
        return made(self.shape, dtype)
    array = storage.empty_strided(self.shape, strides, dtype)
    if made is not np.empty:
        array[...] = made((), dtype)
    return array


def permuted_like(array: Any, made: Any) -> Any:
    """A new array with the geometry of a dense, permuted one; None for others."""
    found = np.empty_like(array)
    if found.strides != array.strides:
        return None
    if made is not np.empty:
        put_number(found, 0 if made is np.zeros else 1)
    return found


def fast_like(made: Any) -> Any:
    def fast(args: Any, dtype: Any) -> Any:
        if len(args) != 1 or type(args[0]) is not Tensor or args[0]._flags:
            return None
        array = args[0].array
        if not array.size or 0 in array.strides:
            return None
        if array.flags.c_contiguous:
            return made(array.shape, array.dtype if dtype is None else dtype.numpy)
        return None if dtype is not None else permuted_like(array, made)
    return fast


fast_empty_like = fast_like(np.empty)


def fast_full_like(args: Any, dtype: Any) -> Any:
    if len(args) != 2 or not is_small_number(args[1]):
        return None
    array = fast_empty_like(args[:1], dtype)
    return None if array is None else simply_filled(array, args[1])


def full_like_kernel(xp: Any, self: Any, fill_value: Any, dtype: Any,
                     memory_format: Any) -> Any:
    if dtype is None and memory_format is None and self.size and self.flags.c_contiguous and 0 not in self.strides:
        return filled(xp.empty(self.shape, self.dtype), fill_value)
    return filled(like_array(self, dtype, memory_format, np.empty), fill_value)


def like_meta(xp: Any, self: Any, *rest: Any) -> Any:
    dtype, memory_format = rest[-2:]
    return meta_array(self.shape, format_strides(self, memory_format), dtype or self.dtype)


def like(name: str, parameters: str, kernel: Any, fast: Any, **columns: Any) -> None:
    factory(f"{name}_like", ("", parameters, kernel), fast=fast, out=False, memory_format=True, meta=like_meta,
            batch=families.pointwise, traits=("as_is",), **columns)


like("zeros", "Tensor self", like_kernel(np.zeros), fast_like(np.zeros), masked="same mask",
    doc="""A tensor of zeros, with the shape and dtype of another.
    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """)
like("ones", "Tensor self", like_kernel(ones_array), fast_like(ones_array), masked="same mask",
    doc="""A tensor of ones, with the shape and dtype of another.
    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
    """)
like("empty", "Tensor self", empty_like_kernel, lambda args, dtype: uninitialized(fast_empty_like(args, dtype)),
    doc="""A tensor with whatever is in memory, with the shape and dtype of another.
    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """)
like("full", "Tensor self, Scalar fill_value", full_like_kernel, fast_full_like,
    doc="""A tensor of one value, with the shape and dtype of another.
    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """)


# ---- new_: of a size, and the dtype of another
def new_meta(xp: Any, self: Any, size: Any, *rest: Any) -> Any:
    check_size(size)
    return meta_array(size, storage.contiguous_strides(size), rest[-1] or self.dtype)


def batched_new(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of the `new_` forms: the batch dimension comes first."""
    return call(op, [families.move_to_front(args[0], dims[0]), (size, *args[1]), *args[2:]]), 0


def new(name: str, parameters: str, create: Any, **columns: Any) -> None:
    """A method `create(xp, size, *values, dtype)`, by default with the dtype of the tensor."""
    def kernel(xp: Any, self: Any, size: Any, *values: Any) -> Any:
        check_size(size)
        return create(xp, size, *values[:-1], values[-1] or self.dtype)
    factory(f"new_{name}", ("", parameters, kernel), method=True, plain=False, out=False, traits=("as_is",),
            **{"meta": new_meta, "batch": batched_new, **columns})


new("zeros", NEW_SIZE, lambda xp, size, dtype: xp.zeros(size, dtype))
new("ones", NEW_SIZE, lambda xp, size, dtype: lean.ones(size, dtype))
new("empty", NEW_SIZE, lambda xp, size, dtype: uninitialized(xp.empty(size, dtype)))
new("full", f"{NEW_SIZE}, Scalar fill_value", lambda xp, size, fill_value, dtype: filled(xp.empty(size, dtype), fill_value))
new("empty_strided", f"{NEW_SIZE}, SymInt[] stride", empty_strided_kernel, batch=families.loop, masked="same mask",
    meta=lambda xp, self, size, stride, dtype: meta_array(size, stride, dtype or self.dtype))
