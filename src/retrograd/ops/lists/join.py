"""Joining tensors and rearranging their elements in new memory: cat, stack, repeat, flip, roll, triangles, padding."""
from __future__ import annotations

import math
from itertools import combinations as index_combinations
from itertools import product
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native
from retrograd.core.api import expose
from retrograd.core.copying import SMALL, contiguous, copy_into
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import is_complex_type
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.core.tensor import FLAG_WRAPPER, new_tensor
from retrograd.ops import late
from retrograd.ops.create.factories import as_element
from retrograd.ops.memory.copy import clone, contiguous_format, copied, format_strides, meta_array, real_if
from retrograd.ops.shared import geometry
from retrograd.ops.shared.dtype_checks import proven
from retrograd.ops.shared.families import is_watched, loop, move_to_front, shift_dims, will_differentiate, wrap_dim, wrap_dims
from retrograd.ops.shared.reductions import lacking
from retrograd.ops.shared.triangles import lower_part, upper_part
from retrograd.ops.views.shape import expand, meshgrid, reshaped, unpacked, unsafe_view
from retrograd.ops.views.slicing import slice_


# ---- cat and stack
def is_skipped(shape: Any) -> bool:
    """Whether cat skips a tensor: empty 1-D tensors are compatible with anything."""
    return len(shape) == 1 and shape[0] == 0


def check_cat(arrays: Any, dim: int) -> tuple[int, Any]:
    """The non-negative dimension and the arrays that are not skipped."""
    for i, a in enumerate(arrays):
        if a.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {i}) cannot be concatenated")
    numbered = [(i, a) for i, a in enumerate(arrays) if not is_skipped(a.shape)]
    if not numbered:
        return wrap_dim(dim, 1), []
    first = numbered[0][1]
    dim = wrap_dim(dim, first.ndim)
    for i, a in numbered:
        if a.ndim != first.ndim:
            raise RuntimeError(f"Tensors must have same number of dimensions: got {first.ndim} and {a.ndim}")
        for d in range(first.ndim):
            if d != dim and a.shape[d] != first.shape[d]:
                raise RuntimeError(f"Sizes of tensors must match except in dimension {dim}. Expected size "
                                   f"{first.shape[d]} but got size {a.shape[d]} for tensor number {i} in the list.")
    return dim, [a for _, a in numbered]


def cat_kernel(xp: Any, tensors: Any, dim: int) -> Any:
    shape = tensors[0].shape if tensors else ()
    if shape and len(shape) < 4 and -len(shape) <= dim < len(shape) and tensors[0].size and all(
            [a.shape == shape for a in tensors]):
        return joined(xp, tensors, dim + len(shape) if dim < 0 else dim)
    if tensors and all([is_skipped(a.shape) for a in tensors]):
        return xp.empty((0,), tensors[0].dtype)
    dim, used = check_cat(tensors, dim)
    if not used:
        return xp.empty((0,), tensors[0].dtype)
    if used[0].ndim in (4, 5) and all([geometry.channels_last_like(a) for a in used]):
        shape = list(used[0].shape)
        shape[dim] = sum([a.shape[dim] for a in used])
        return xp.concatenate(used, dim, out=geometry.new_in_format(shape, used[0].dtype, True))
    return joined(xp, used, dim)


def joined(xp: Any, arrays: Any, dim: int) -> Any:
    """Arrays concatenated along a dimension, row-major."""
    if sum([a.size for a in arrays]) <= max(SMALL, 1024 * len(arrays)):
        made = xp.concatenate(arrays, dim)
        return made if made.flags.c_contiguous else xp.ascontiguousarray(made)
    first = arrays[0].shape
    made = xp.empty((*first[:dim], sum([a.shape[dim] for a in arrays]), *first[dim + 1:]), arrays[0].dtype)
    before, start = (slice(None),) * dim, 0
    for a in arrays:
        copy_into(made[(*before, slice(start, start + a.shape[dim]))], a)
        start += a.shape[dim]
    return made


def cat_rule(grad: Any, tensors_sym_sizes: Any, tensors_scalar_type: Any, dim: int, needed: Any) -> Any:
    if len(tensors_sym_sizes) > 0:
        dim = dim % grad.array.ndim
    start = 0
    grads: list[Any] = []
    if is_ordinary(grad) and not is_watched() and not is_complex_type(grad.array.dtype):
        before = (slice(None),) * dim
        for sizes, wanted in zip(tensors_sym_sizes, needed, strict=True):
            if is_skipped(sizes):
                grads.append(grad.new_zeros((0,)) if wanted else None)
                continue
            end = start + sizes[dim]
            grads.append(new_tensor(grad.array[(*before, slice(start, end))]) if wanted else None)
            start = end
        return grads
    for sizes, dtype, wanted in zip(tensors_sym_sizes, tensors_scalar_type, needed, strict=True):
        if is_skipped(sizes):
            grads.append(grad.new_zeros((0,)) if wanted else None)
            continue
        end = start + sizes[dim]
        grads.append(call(slice_, [real_if(grad, dtype), dim, start, end, 1]) if wanted else None)
        start = end
    return grads


def batched_list(tensors: Any, dims: Any, size: int) -> Any:
    """A list of tensors, all with the batch dimension in front."""
    return [move_to_front(t, d) if d is not None else t.unsqueeze(0).expand(size, *t.shape)
            for t, d in zip(tensors, dims, strict=True)]


def batch_cat(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    tensors = batched_list(args[0], dims[0], size)
    tensors = [t for t in tensors if not is_skipped(tuple(t.shape)[1:])] or tensors[:1]
    return op(tensors, wrap_dim(args[1], tensors[0].ndim - 1) + 1), 0


def batch_stack(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    tensors = batched_list(args[0], dims[0], size)
    return op(tensors, wrap_dim(args[1], tensors[0].ndim) + 1), 0


def refuse_none(tensors: Any, dim: int) -> None:
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")


cat = defop(
    "cat(Tensor[] tensors, int dim=0) -> Tensor",
    out="cat",
    kernel=cat_kernel, promote="common", check=proven(refuse_none),
    vjp=dict(tensors=cat_rule), jvp="linear", batch=batch_cat, variants="function", lower="@cat", autocast="widest",
    pattern="moves", traits=("out_first", "out_after_dim", "chalf"), masked="passthrough",
)
for alias in ("concat", "concatenate"):
    defop(f"{alias}(Tensor[] tensors, int dim=0) -> Tensor", composite=True, variants="function", alias=("cat", "default"),
          kernel=lambda tensors, dim: call(cat, [tensors, dim]), out="cat")


def stack_kernel(xp: Any, tensors: Any, dim: int) -> Any:
    first = tensors[0]
    dim = wrap_dim(dim, first.ndim + 1)
    for i, a in enumerate(tensors):
        if a.shape != first.shape:
            raise RuntimeError(f"stack expects each tensor to be equal size, but got {list(first.shape)} at entry 0 "
                               f"and {list(a.shape)} at entry {i}")
    made = xp.empty((*first.shape[:dim], len(tensors), *first.shape[dim:]), first.dtype)
    if dim == 0 and first.ndim and 0 < first.size <= 1024:
        xp.concatenate(tensors, 0, out=made.reshape((-1, *first.shape[1:])))
        return made
    before = (slice(None),) * dim
    for i, a in enumerate(tensors):
        if a.size > SMALL:
            copy_into(made[(*before, i)], a)
        else:
            made[(*before, i)] = a
    return made


def refuse_empty_stack(tensors: Any, dim: int) -> None:
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")


def stack_rule(grad: Any, dim: int, needed: Any) -> Any:
    if is_ordinary(grad) and not is_watched():       # plain views, without view tracking
        rows = lean.moveaxis(grad.array, dim, 0)
        return [new_tensor(rows[i, ...]) if wanted else None for i, wanted in enumerate(needed)]
    return [grad.select(dim, i) if wanted else None for i, wanted in enumerate(needed)]


stack = defop(
    "stack(Tensor[] tensors, int dim=0) -> Tensor",
    out="cat",
    kernel=stack_kernel, promote="common", check=proven(refuse_empty_stack),
    vjp=dict(tensors=stack_rule), jvp="linear", batch=batch_stack, variants="function", lower="@stack", autocast="widest",
    pattern="moves",
    traits=("chalf",), masked="passthrough",
)


def stacked(name: str, least: int, prepare: Any, dim_of: Any) -> None:
    def kernel(tensors: Any) -> Any:
        """cat along one dimension, after adding missing dimensions."""
        if not tensors:
            raise RuntimeError(f"{'vstack' if name == 'row_stack' else name} expects a non-empty TensorList")
        ready = list(tensors)
        if min([t.array.ndim for t in ready]) < least:
            ready = list(prepare(ready))
        return call(cat, [ready, dim_of(ready)])
    defop(f"{name}(Tensor[] tensors) -> Tensor", kernel=kernel, composite=True, variants="function", out="cat",
          traits=("out_apart",), lower=f"@native.{'vstack' if name == 'row_stack' else name}")


def columns(tensors: Any) -> Any:
    return [reshaped(t, (t.array.size, 1)) if t.array.ndim <= 1 else t for t in tensors]


stacked("hstack", 1, lambda tensors: late.atleast_1d(tensors), lambda ready: 0 if ready[0].array.ndim == 1 else 1)
stacked("vstack", 2, lambda tensors: late.atleast_2d(tensors), lambda ready: 0)
stacked("row_stack", 2, lambda tensors: late.atleast_2d(tensors), lambda ready: 0)
stacked("dstack", 3, lambda tensors: late.atleast_3d(tensors), lambda ready: 2)
stacked("column_stack", 2, columns, lambda ready: 1)


def block_diag_kernel(xp: Any, tensors: Any) -> Any:
    blocks = []
    for i, a in enumerate(tensors):
        if a.ndim > 2:
            raise RuntimeError("torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                               f"{i} has {a.ndim} dimensions")
        blocks.append(a if a.ndim == 2 else a.reshape(1, a.size))
    made = xp.zeros((sum([b.shape[0] for b in blocks]), sum([b.shape[1] for b in blocks])), blocks[0].dtype)
    row = column = 0
    for b in blocks:
        made[row:row + b.shape[0], column:column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return made


def block_diag_rule(grad: Any, tensors_sym_sizes: Any, needed: Any) -> Any:
    grads = []
    row = column = 0
    for sizes, wanted in zip(tensors_sym_sizes, needed, strict=True):
        rows, width = (1, *sizes)[-2:] if sizes else (1, 1)
        part = None
        if wanted:
            part = call(slice_, [call(slice_, [grad, 0, row, row + rows, 1]), 1, column, column + width, 1])
            for _ in range(2 - len(sizes)):
                part = part.squeeze(-1)
            if 0 in sizes:
                part = grad.new_zeros(sizes)
        grads.append(part)
        row, column = row + rows, column + width
    return grads


def batch_each(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    tensors = batched_list(args[0], dims[0], size)
    return late.stack([op([t.select(0, i) for t in tensors]) for i in range(size)]), 0


block_diagonal = defop(
    "block_diag(Tensor[] tensors) -> Tensor",
    kernel=block_diag_kernel, promote="common",
    vjp=dict(tensors=block_diag_rule), jvp="linear", batch=batch_each, variants="", pattern="moves",
    traits=("chalf",),
)


@expose(method=False)
def block_diag(*tensors: Any) -> Any:
    """A matrix with the given matrices along its diagonal and zeros elsewhere."""
    blocks = list(unpacked(tensors))
    return call(block_diagonal, [blocks]) if blocks else late.zeros((1, 0))


@expose(method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """The Cartesian product of 1-D tensors, one combination per row."""
    tensors = unpacked(tensors)
    for t in tensors:
        if t.array.ndim != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.array.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return call(stack, [[g.flatten() for g in meshgrid(*tensors, indexing="ij")], 1])


def combinations_kernel(self: Any, r: int, with_replacement: bool) -> Any:
    """All `r`-element combinations of a 1-D tensor, one per row."""
    if self.array.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(self.array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return self.new_empty((0,))
    size = self.array.size
    mask = np.zeros((size,) * r, np.bool_)
    if with_replacement:
        grid = np.indices(mask.shape)
        mask[...] = True
        for k in range(r - 1):
            mask &= grid[k] <= grid[k + 1]
    else:
        for place in index_combinations(range(size), r):
            mask[place] = True
    grids = meshgrid(*[self] * r, indexing="ij")
    return call(stack, [[g.masked_select(new_tensor(mask)) for g in grids], 1])


defop("combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor", kernel=combinations_kernel,
      composite=True,
      variants="function", out=False)


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
    sizes, summed = [], []
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
      kernel=lambda self, dims: call(repeat, [self, (1,) * (self.array.ndim - len(dims)) + tuple(dims)]))


def interleave_kernel(xp: Any, repeats: Any, output_size: Any) -> Any:
    if repeats.dtype not in (np.int64, np.int32):
        name = dtypes.BY_NUMPY[repeats.dtype].legacy
        raise lacking(f"\"repeat_interleave_cpu\" not implemented for '{name}'")
    if repeats.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeats can not be negative")
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


roll = defop(
    "roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor",
    out="aten",
    kernel=roll_kernel, lower="@roll",
    vjp=dict(self=lambda grad, shifts, dims: grad.roll([-s for s in reversed(shifts)], tuple(reversed(dims)))),
    jvp="linear", batch=batch_roll, pattern="moves",
    traits=("chalf",), masked="passthrough",
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
    vjp=dict(self=lambda grad, k, dims: grad.rot90(-k, dims)), jvp="linear", batch=shift_dims("dims"), pattern="moves",
    lower="@native.rot90",
    traits=("chalf",),
)


# ---- triangles
def batch_front(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    return op(move_to_front(args[0], dims[0]), *args[1:]), 0


def triangle(name: str, part: Any) -> Any:
    def kernel(xp: Any, self: Any, diagonal: int) -> Any:
        if self.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return part(self, diagonal)
    return kernel


tril = defop(
    "tril(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel=triangle("tril", lower_part), inplace=True,
    vjp=dict(self=lambda grad, diagonal: grad.tril(diagonal)), jvp="linear", batch=batch_front, pattern="moves",
    lower="@native.tril",
    traits=("chalf",),
)
triu = defop(
    "triu(Tensor self, SymInt diagonal=0) -> Tensor",
    kernel=triangle("triu", upper_part), inplace=True,
    vjp=dict(self=lambda grad, diagonal: grad.triu(diagonal)), jvp="linear", batch=batch_front, pattern="moves",
    lower="@native.triu",
    traits=("chalf",),
)


def triangle_indices(name: str, keep: Any) -> None:
    def kernel(xp: Any, row: int, col: int, offset: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
        if row < 0 or col < 0:
            which, value = ("row", row) if row < 0 else ("col", col)
            raise RuntimeError(f"{which} must be non-negative, got{value}")
        if dtype is not None and dtype.char not in "ilq":
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.BY_NUMPY[dtype].legacy}'")
        made = None if native is None else native.triangle_indices(row, col, offset, name == "tril_indices")
        if made is None:
            distance = xp.arange(col) - xp.arange(row)[:, None]
            made = lean.stack(xp.nonzero(keep(distance, offset)))
        return made.astype(dtype or np.int64, copy=False)
    defop(f"{name}(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, Device? "
          f"device=None, bool? pin_memory=None) -> Tensor", kernel=kernel, variants="function", out=False)


triangle_indices("tril_indices", lambda distance, offset: distance <= offset)
triangle_indices("triu_indices", lambda distance, offset: distance >= offset)


# ---- products of shapes
def kron_kernel(self: Any, other: Any) -> Any:
    """The Kronecker product."""
    a, b = self.array.shape, other.array.shape
    rank = max(len(a), len(b))
    a, b = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    if is_ordinary(self) and is_ordinary(other) and self.array.dtype is other.array.dtype and not (
            will_differentiate(self) or will_differentiate(other)):
        left, right = self.array.reshape([n for x in a for n in (x, 1)]), other.array.reshape([n for x in b for n in (1, x)])
        made = (new_tensor(left) * new_tensor(right)).array
        return new_tensor(made.reshape([x * y for x, y in zip(a, b, strict=True)]))
    left = call(unsafe_view, [self, [n for x in a for n in (x, 1)]])
    right = call(unsafe_view, [other, [n for x in b for n in (1, x)]])
    return call(unsafe_view, [left * right, [x * y for x, y in zip(a, b, strict=True)]])


defop("kron(Tensor self, Tensor other) -> Tensor", kernel=kron_kernel, composite=True, lower="@native.kron")


# ---- padding
def padded_shape(shape: Any, pad: Any) -> list[int]:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > len(shape):
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of the input. Pad "
                           f"length is {len(pad)}while the input has {len(shape)}dimensions.")
    sizes = list(shape)
    for i in range(len(pad) // 2):
        d = len(shape) - 1 - i
        if shape[d] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        sizes[d] += pad[2 * i] + pad[2 * i + 1]
    return sizes


def pad_kernel(xp: Any, self: Any, pad: Any, value: Any) -> Any:
    shape = padded_shape(self.shape, pad)
    source, target = [slice(None)] * self.ndim, [slice(None)] * self.ndim
    for i in range(len(pad) // 2):
        d = self.ndim - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        target[d] = slice(max(before, 0), shape[d] - max(after, 0))
        source[d] = slice(max(-before, 0), self.shape[d] - max(-after, 0))
    if all([n <= 0 for n in pad]):
        part = self[tuple(source)]
        return copied(part, None, format_strides(part, None))
    made = geometry.new_in_format(shape, self.dtype, geometry.channels_last_like(self))
    copy_into(made, np.asarray(as_element(value, self.dtype), self.dtype))
    copy_into(made[tuple(target)], self[tuple(source)])
    return made


constant_pad_nd = defop(
    "constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
    out="aten",
    kernel=pad_kernel, lower="@constant_pad_nd",
    vjp=dict(self=lambda grad, pad: call(constant_pad_nd, [grad, [-n for n in pad], 0])),
    jvp=lambda self_t, pad: call(constant_pad_nd, [self_t, pad, 0]), batch=batch_front, variants="function", pattern="moves",
    traits=("chalf",),
)


def padded(self: Any, pad: Any, mode: str, value: Any) -> Any:
    """A tensor with more (or fewer) positions at the ends of its last dimensions."""
    ndim = self.array.ndim
    if mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got padding "
                           f"length {len(pad)} and input of dimension {ndim}")
    if mode == "constant":
        return call(constant_pad_nd, [self, pad, 0.0 if value is None else value])
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(pad) not in (2, 4, 6) or ndim - len(pad) // 2 not in (1, 2):
        raise NotImplementedError(UNSUPPORTED_PADDING.format(len(pad), ndim))
    if mode == "circular":
        return padded_in_a_circle(self, pad)
    kind = "reflection" if mode == "reflect" else "replication"
    return call(find_packet(f"{kind}_pad{len(pad) // 2}d").default, [self, pad])      # type: ignore[union-attr]


UNSUPPORTED_PADDING = """Padding size {} is not supported for {}D input tensor.
Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


def written_in_a_circle(self: Any, pad: Any) -> Any:
    """Circular padding, written into a new tensor piece by piece; the writes are visible in versions and graphs."""
    sizes = self.array.shape
    dims = [(len(sizes) - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    if any([max(before, after) > sizes[d] for d, before, after in dims]):
        raise RuntimeError("Padding value causes wrapping around more than once.")
    shape = list(sizes)
    for d, before, after in dims:
        shape[d] += before + after
    made = late.empty(tuple(shape), dtype=self.dtype, device=self.device)
    inside = made
    for d, before, _ in dims:
        inside = call(slice_, [inside, d, before, before + sizes[d], 1])
    inside.copy_(self)
    for d, before, after in dims:
        end = shape[d]
        for first, last, start in ((0, before, end - before - after), (end - after, end, before)):
            if last > first:
                source = call(slice_, [made, d, start, start + last - first, 1])
                call(slice_, [made, d, first, last, 1]).copy_(source)
    return made


def padded_in_a_circle(self: Any, pad: Any) -> Any:
    """Circular padding, dimension by dimension; negative padding is cropped first."""
    ndim = self.array.ndim
    if any([p < 0 for p in pad]):
        for i in range(len(pad) // 2):
            if self.array.shape[-1 - i] + min(pad[2 * i], 0) + min(pad[2 * i + 1], 0) < 0:
                raise RuntimeError("Negative padding value is resulting in an empty dimension")
        self = call(constant_pad_nd, [self, [min(p, 0) for p in pad], 0.0])
        pad = [max(p, 0) for p in pad]
    if native is not None and is_ordinary(self) and not is_watched() and not will_differentiate(self):
        made = native.padded(self.array, len(pad) // 2, tuple(pad[::2][::-1]), tuple(pad[1::2][::-1]), "c")
        if made is not None:
            return new_tensor(made)
    if not self._flags & FLAG_WRAPPER:
        return written_in_a_circle(self, pad)
    for i in range(len(pad) // 2):
        d = ndim - 1 - i
        size, before, after = self.array.shape[d], pad[2 * i], pad[2 * i + 1]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before or after:
            self = late.index_select(self, d, new_tensor(np.arange(-before, size + after) % size))
    return self


defop('pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor', kernel=padded, composite=True,
      variants="", out=False, lower="@native.pad")



def chunks_side_by_side(tensors: Any, dim: int, num_chunks: int) -> Any:
    """Each tensor split into zero-padded chunks; the i-th chunks of all tensors are concatenated."""
    if not tensors:
        raise RuntimeError("_chunk_cat expects a non-empty input tensor list")
    if num_chunks < 1:
        raise RuntimeError("_chunk_cat expects positive num_chunks")
    if len({t.dtype.name for t in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects all input tensors with the same dtype")
    if dim < 0 and len({t.ndim for t in tensors}) > 1:
        raise RuntimeError("_chunk_cat expects non-negative dim when input tensors have different ndims")
    dim = wrap_dim(dim, tensors[0].ndim)
    parts = []
    for t in tensors:
        if t.ndim <= dim:
            raise RuntimeError("_chunk_cat expects dim < ndim for all input tensors")
        if not t.numel():
            raise RuntimeError("_chunk_cat expects non-empty tensor")
        if t.shape[:dim] != tensors[0].shape[:dim]:
            raise RuntimeError("_chunk_cat expects same sizes of 0,...,dim-1 dimensions for all tensors")
        missing = -t.shape[dim] % num_chunks
        if missing:
            t = call(constant_pad_nd, [t, [*[0] * (2 * (t.ndim - dim) - 1), missing], 0])
        parts.append(t.reshape((*t.shape[:dim], num_chunks, -1)))
    return late.cat(parts, dim + 1)


defop("_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor", kernel=chunks_side_by_side, composite=True,
      variants="function", out="same", traits=("out_untracked",))
