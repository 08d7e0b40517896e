"""Joining tensors: cat, stack and their relatives, block_diag, combinations."""
from __future__ import annotations

from itertools import combinations as index_combinations
from typing import Any

import numpy as np

from retrograd.core import lean
from retrograd.core.api import expose
from retrograd.core.copying import SMALL, copy_into
from retrograd.core.dispatch import call, is_ordinary
from retrograd.core.dtypes import is_complex_type
from retrograd.core.opdef import OpDef, defop
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import real_if
from retrograd.ops.nn.constant_pad import constant_pad_nd
from retrograd.ops.shared import geometry
from retrograd.ops.shared.dtype_checks import proven
from retrograd.ops.shared.families import is_watched, move_to_front, wrap_dim
from retrograd.ops.views.shape import meshgrid, reshaped, tensors_only
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
        return 0, []
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
        return xp.concatenate(used, dim, out=geometry.new_in_format(used[0], shape, True))
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
    doc="""Tensors joined along a dimension that they have.
    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """,
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
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    if first.ndim in (4, 5) and dim < first.ndim and all(
            [not a.flags.c_contiguous and lean.moveaxis(a, 1, -1).flags.c_contiguous for a in tensors]):
        made = empty_around(xp, shape, dim, first.dtype)
    else:
        made = xp.empty(shape, first.dtype)
    if dim == 0 and first.ndim and 0 < first.size <= 1024 and made.flags.c_contiguous:
        xp.concatenate(tensors, 0, out=made.reshape((-1, *first.shape[1:])))
        return made
    before = (slice(None),) * dim
    for i, a in enumerate(tensors):
        if a.size > SMALL:
            copy_into(made[(*before, i)], a)
        else:
            made[(*before, i)] = a
    return made


def empty_around(xp: Any, shape: Any, dim: int, dtype: Any) -> Any:
    """A new array with channels innermost, in whose memory `dim` lies just outside of the dimension that follows it."""
    order = [0, *range(2, len(shape) - 1), 1]              # of the dimensions without `dim`, outermost first
    around = [d + (d >= dim) for d in order]
    around.insert(order.index(dim), dim)
    return xp.empty([shape[d] for d in around], dtype).transpose([around.index(d) for d in range(len(shape))])


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
    doc="""Tensors of one shape joined along a new dimension.
    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """,
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
    blocks = list(tensors_only(tensors))
    return call(block_diagonal, [blocks]) if blocks else late.zeros((1, 0))


@expose(method=False)
def cartesian_prod(*tensors: Any) -> Any:
    """The Cartesian product of 1-D tensors, one combination per row."""
    for t in tensors_only(tensors):
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
