"""Elements repeated or in another order, in new memory: repeat, tile, repeat_interleave, flip, roll, rot90."""
from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.copying import contiguous, copy_into
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop
from retrograd.ops import late
from retrograd.ops.memory.copy import clone, contiguous_format, copied, format_strides, meta_array
from retrograd.ops.shared import geometry
from retrograd.ops.shared.families import loop, move_to_front, shift_dims, wrap_dim, wrap_dims
from retrograd.ops.shared.reductions import lacking
from retrograd.ops.views.shape import expand


# ---- repetition
def repeat_kernel(xp: Any, self: Any, repeats: Any) -> Any:
    if len(repeats) < self.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    extra = len(repeats) - self.ndim
    shape = [n * r for n, r in zip((1,) * extra + self.shape, repeats, strict=True)]
    if any([n < 0 for n in shape]):
        bad = next(n for n in shape if n < 0)
        raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {shape}")
    return xp.ascontiguousarray(xp.tile(self, repeats)) if repeats else self.copy()


def repeat_rule(grad: Any, self_sym_sizes: Any, repeats: Any) -> Any:
    """Sum over the copies."""
    if 0 in repeats:
        return grad.new_zeros(self_sym_sizes)
    extra = len(repeats) - len(self_sym_sizes)
    for _ in range(extra):
        grad = grad.sum(0, False)
    sizes: list[int] = []
    summed: list[int] = []
    for n, r in zip(self_sym_sizes, repeats[extra:], strict=True):
        if r != 1:
            summed.append(len(sizes))
            sizes.append(r)
        sizes.append(n)
    return grad.reshape(sizes).sum(summed) if summed else grad


def batch_repeat(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    missing = len(args[1]) - (t.ndim - 1)
    if missing > 0:
        t = t.reshape((size,) + (1,) * missing + tuple(t.shape[1:]))
    return op(t, (1, *args[1])), 0


repeat = defop(
    "repeat(Tensor self, SymInt[] repeats) -> Tensor",
    kernel=repeat_kernel, vjp=dict(self=repeat_rule), jvp="linear", batch=batch_repeat, variants="method", pattern="moves",
    lower="@native.repeat",
    traits=("chalf",), masked="passthrough",
)
defop("tile(Tensor self, SymInt[] dims) -> Tensor", composite=True, out=False, lower="@native.tile",
      kernel=lambda self, dims: call(repeat, [self, (1,) * (self.array.ndim - len(dims)) + tuple(dims)]),
      doc="""The whole tensor some times over along each dimension.
      >>> torch.tile(torch.tensor([1, 2]), (2,))
      tensor([1, 2, 1, 2])
      """)


def interleave_kernel(xp: Any, repeats: Any, output_size: Any) -> Any:
    if repeats.dtype not in (np.int64, np.int32):
        name = dtypes.BY_NUMPY[repeats.dtype].legacy
        raise lacking(f"\"repeat_interleave_cpu\" not implemented for '{name}'")
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {output_size}: [{output_size}]")
    if output_size is not None and repeats.size and output_size != repeats.sum():
        raise RuntimeError("allocated size does not match required size")
    return xp.repeat(xp.arange(repeats.size, dtype=repeats.dtype), repeats)


def interleave_meta(xp: Any, repeats: Any, output_size: Any) -> Any:
    if output_size is None:
        raise RuntimeError("cannot repeat_interleave a meta tensor without output_size")
    return meta_array((output_size,), (1,), repeats.dtype)


interleave = defop(
    "repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor",
    out="aten",
    meta=interleave_meta,
    kernel=interleave_kernel, batch=loop, variants="function",
    traits=("chalf",),
    doc="""Each element some times over.
    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    """,
)


def interleave_tensor(self: Any, repeats: Any, dim: Any, output_size: Any) -> Any:
    """Each position of a dimension as often as `repeats` says."""
    if dim is None:
        self = self.flatten()
        dim = 0
    size = self.array.shape[wrap_dim(dim, self.array.ndim)] if self.array.ndim else 1
    if repeats.array.ndim == 0 or (repeats.array.ndim == 1 and repeats.array.shape[0] == 1):
        repeats = call(expand, [repeats.reshape((1,)), (size,), False])
    elif repeats.array.ndim == 1:
        if repeats.array.shape[0] != size:
            raise RuntimeError(f"repeats must have the same size as input along dim, but got repeats.size(0) = "
                               f"{repeats.array.shape[0]} and input.size({dim}) = {size}")
    else:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    return late.index_select(self, dim, call(interleave, [repeats, output_size]))


def interleave_int(self: Any, repeats: int, dim: Any, output_size: Any) -> Any:
    """Each position of a dimension `repeats` times."""
    if dim is None:
        self = self.flatten()
        dim = 0
    ndim = self.array.ndim
    dim = wrap_dim(dim, ndim)
    if repeats < 0:
        raise RuntimeError("Repeats must be non-negative")
    shape = self.array.shape
    if output_size is not None and shape and output_size != shape[dim] * repeats:
        raise RuntimeError("repeat_interleave: Invalid output_size, expected " + str(shape[dim] * repeats) + " but got "
                           + str(output_size))
    wide = call(expand, [self.unsqueeze(dim + 1), (*shape[:dim + 1], repeats, *shape[dim + 1:]), False])
    return call(clone, [wide, contiguous_format]).flatten(dim, dim + 1)


defop("repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None) -> "
      "Tensor",
      kernel=interleave_tensor, composite=True, out=False)
defop("repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, *, SymInt? output_size=None) -> Tensor",
      kernel=interleave_int, composite=True, out=False)


# ---- other orders
def flip_kernel(xp: Any, self: Any, dims: Any) -> Any:
    wrapped = wrap_dims(dims, self.ndim)
    return copied(lean.flip(self, wrapped) if self.ndim else self, None, format_strides(self, None))


flip = defop(
    "flip(Tensor self, int[] dims) -> Tensor",
    out="aten",
    kernel=flip_kernel, lower="@flip",
    vjp=dict(self=lambda grad, dims: grad.flip(dims)), jvp="linear", batch=shift_dims("dims", strict=True), pattern="moves",
    traits=("chalf",), masked="passthrough",
    doc="""The elements in reversed order along dimensions.
    >>> torch.flip(torch.tensor([1, 2, 3]), (0,))
    tensor([3, 2, 1])
    """,
)


def flipped_along(name: str, least: int, dim: int, words: str) -> None:
    def kernel(self: Any) -> Any:
        if self.array.ndim < least:
            raise RuntimeError(f"Input must be >= {words}.")
        return call(flip, [self, (dim,)])
    defop(f"{name}(Tensor self) -> Tensor", kernel=kernel, composite=True, out=False)


flipped_along("fliplr", 2, 1, "2-d")
flipped_along("flipud", 1, 0, "1-d")


def roll_kernel(xp: Any, self: Any, shifts: Any, dims: Any) -> Any:
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        return rolled(xp, contiguous(self).reshape(-1), shifts, (0,)).reshape(self.shape) if self.size else self.copy()
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    if self.size == 0:
        return copied(self, None, format_strides(self, None))
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {dims[0]} but tensor has no dimensions")
    return rolled(xp, self, shifts, [wrap_dim(d, self.ndim) for d in dims])


def rolled(xp: Any, array: Any, shifts: Any, dims: Any) -> Any:
    """The elements rolled along some dimensions, each by swapping two pieces."""
    made = xp.empty(array.shape, array.dtype)
    total = [0] * array.ndim
    for shift, dim in zip(shifts, dims, strict=True):
        total[dim] += shift
    pieces = []
    for n, shift in zip(array.shape, total, strict=True):
        k = shift % n
        parts = [(slice(k, None), slice(None, n - k)), (slice(None, k), slice(n - k, None))]
        pieces.append(parts if k else [(slice(None), slice(None))])
    for chosen in product(*pieces):
        copy_into(made[tuple([to for to, _ in chosen])], array[tuple([source for _, source in chosen])])
    return made


def batch_roll(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    if not args[2]:
        return op(t.reshape((size, math.prod(t.shape[1:]))), args[1], (1,)).reshape(t.shape), 0
    return op(t, args[1], [wrap_dim(d, t.ndim - 1) + 1 for d in args[2]]), 0


batch_roll.refuses = True  # type: ignore[attr-defined]
roll = defop(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    out="aten",
    kernel=roll_kernel, lower="@roll",
    vjp=dict(self=lambda grad, shifts, dims: grad.roll([-s for s in reversed(shifts)], tuple(reversed(dims)))),
    jvp="linear", batch=batch_roll, pattern="moves",
    traits=("chalf",), masked="passthrough",
    doc="""The elements moved along dimensions; what leaves at the end enters at the beginning.
    >>> torch.roll(torch.tensor([1, 2, 3]), 1)
    tensor([3, 1, 2])
    """,
)


def rot90_kernel(xp: Any, self: Any, k: int, dims: Any) -> Any:
    ndim = self.ndim
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    if wrap_dim(dims[0], ndim) == wrap_dim(dims[1], ndim):
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    k %= 4
    if k == 2:
        return flip_kernel(xp, self, dims)
    if k == 0:
        return xp.array(self, order="C")
    return geometry.swapped(flip_kernel(xp, self, dims[1:] if k == 1 else dims[:1]), dims[0] % ndim, dims[1] % ndim)


rot90 = defop(
    "rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor",
    out="aten",
    kernel=rot90_kernel,
    vjp=dict(self=lambda grad, k, dims: grad.rot90(-k, dims)), jvp="linear", batch=shift_dims("dims", strict=True),
    pattern="moves", lower="@native.rot90",
    traits=("chalf",),
    doc="""A plane turned by quarters.
    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """,
)
