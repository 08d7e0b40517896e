"""Views of parts of a tensor: select, slice, diagonal, unfold, split; their backwards, and ops that write a part."""
from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from retrograd.core import lean, storage
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.shared import families, geometry
from retrograd.ops.shared.elementwise import zeros_beside
from retrograd.ops.shared.families import move_to_front, shift_dims, wrap_dim

LARGEST = 2**63 - 1


def batch_into(*names: str) -> Any:
    """For backwards whose second argument is the shape of the result, and whose named arguments are its dimensions."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        rank = len(args[1])
        if rank == 0:                     # no dimension to count from
            return families.loop(op, args, dims, size)
        moved = [move_to_front(args[0], dims[0]), (size, *args[1])]
        for value, param in zip(args[2:], op.schema.params[2:], strict=True):
            moved.append(wrap_dim(value, rank) + 1 if param.name in names else value)
        return op(*moved), 0
    return rule


def batch_scatter(*names: str) -> Any:
    """For ops that write `src` into a part of `self`: both get the batch dimension in front."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        both = [move_to_front(a, d) if d is not None else a.unsqueeze(0).expand(size, *a.shape)
                for a, d in zip(args[:2], dims[:2], strict=True)]
        rank = both[0].ndim - 1
        rest = [wrap_dim(value, rank) + 1 if param.name in names else value
                for value, param in zip(args[2:], op.schema.params[2:], strict=True)]
        return op(*both, *rest), 0
    return rule


# ---- select and slice
def select_kernel(xp: Any, self: Any, dim: int, index: int) -> Any:
    ndim = self.ndim
    if ndim == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, ndim)
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension "
                         f"{dim}")
    return geometry.selected(self, dim, index + size if index < 0 else index)


def zeros_with(shape: Any, dtype: Any, place: Any, value: Any) -> Any:
    """New zeros in which the part selected by `place` has the given value."""
    made = lean.namespace_of(value).zeros(tuple(shape), dtype)
    if made.size:
        place(made)[...] = value
    return made


select = defop(
    "select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)",
    kernel=select_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, dim, index: call(select_backward, [grad, self_sym_sizes, dim, index])),
    jvp="linear", batch=shift_dims("dim", strict=True), lower="@select", out=False, masked="passthrough",
    doc="""A view at one index of a dimension.
    >>> torch.select(torch.tensor([[1, 2], [3, 4]]), 0, 1)
    tensor([3, 4])
    """,
)
select_backward = defop(
    "select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor",
    kernel=lambda xp, grad_output, input_sizes, dim, index: zeros_with(
        input_sizes, grad_output.dtype, lambda made: select_kernel(xp, made, dim, index), grad_output),
    vjp=dict(grad_output=lambda grad, dim, index: grad.select(dim, index)),
    jvp="linear", batch=batch_into("dim"), node="SelectBackwardBackward0", variants="", pattern="moves",
    traits=("chalf",),
    out_form="out", masked="passthrough",
)


def slice_kernel(xp: Any, self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    ndim = self.ndim
    if ndim == 0:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, ndim)
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    first, last = geometry.slice_bounds(self.shape[dim], start, end)
    return geometry.sliced(self, dim, first, last, step)


def slice_rule(grad: Any, self_sym_sizes: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    return call(slice_backward, [grad, self_sym_sizes, dim, 0 if start is None else start,
                                 LARGEST if end is None else end, step])


slice_ = defop(
    "slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)",
    kernel=slice_kernel,
    vjp=dict(self=slice_rule), jvp="linear", batch=shift_dims("dim"), variants="", lower="@slice", out=False,
    masked="passthrough",
)
slice_backward = defop(
    "slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> "
    "Tensor",
    kernel=lambda xp, grad_output, input_sizes, dim, start, end, step: zeros_with(
        input_sizes, grad_output.dtype, lambda made: slice_kernel(xp, made, dim, start, end, step), grad_output),
    vjp=dict(grad_output=lambda grad, dim, start, end, step: call(slice_, [grad, dim, start, end, step])),
    jvp="linear", batch=batch_into("dim"), node="SliceBackwardBackward0", variants="", pattern="moves",
    traits=("chalf",),
    out_form="out", masked="passthrough",
)


def narrow(self: Any, dim: int, start: Any, length: int) -> Any:
    """A range of a dimension by its start and length."""
    ndim = self.array.ndim
    if isinstance(start, Tensor):
        if start.array.ndim or start.array.dtype.kind not in "iu":
            raise RuntimeError("start must be an 0-dim integral Tensor.")
        start = start.item()
    if ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    size = self.array.shape[wrap_dim(dim, ndim)]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if start > size - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return call(slice_, [self, dim, start, start + length, 1])


defop("narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)", kernel=narrow, composite=True,
      out=False)
defop("narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)", kernel=narrow, composite=True,
      out=False)
def narrow_copy_kernel(xp: Any, self: Any, dim: int, start: int, length: int) -> Any:
    if self.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    size = self.shape[wrap_dim(dim, self.ndim)]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    start = start + size if start < 0 else start
    if length < 0 or start > size - length:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    made = lean.natively(slice_, self, dim, start, start + length, 1)
    return (slice_kernel(xp, self, dim, start, start + length, 1) if made is None else made).copy()


def narrow_copy_gradient(grad: Any, self_sym_sizes: Any, dim: int, start: int, length: int) -> Any:
    start = start + self_sym_sizes[dim] if start < 0 else start
    return call(slice_backward, [grad, self_sym_sizes, dim, start, start + length, 1])


narrow_copy = defop(
    "narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
    kernel=narrow_copy_kernel, vjp=dict(self=narrow_copy_gradient),
    jvp="linear", batch=shift_dims("dim"), pattern="moves",
    traits=("chalf",),
)


# ---- diagonals
def diagonal_dims(ndim: int, dim1: int, dim2: int) -> tuple[int, int]:
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return first, second


def diagonal_kernel(xp: Any, self: Any, offset: int, dim1: int, dim2: int) -> Any:
    return geometry.diagonal(self, offset, *diagonal_dims(self.ndim, dim1, dim2))


diagonal = defop(
    "diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)",
    kernel=diagonal_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, offset, dim1, dim2:
             call(diagonal_backward, [grad, self_sym_sizes, offset, dim1, dim2])),
    jvp="linear", batch=shift_dims("dim1", "dim2"), lower="@diagonal", out=False, masked="passthrough",
    doc="""A view of the elements where two dimensions have the same index.
    >>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """,
)
diagonal_backward = defop(
    "diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    kernel=lambda xp, grad_output, input_sizes, offset, dim1, dim2: zeros_with(
        input_sizes, grad_output.dtype, lambda made: diagonal_kernel(xp, made, offset, dim1, dim2), grad_output),
    vjp=dict(grad_output=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2)),
    jvp="linear", batch=batch_into("dim1", "dim2"), node="DiagonalBackwardBackward0", variants="", pattern="moves",
    traits=("chalf",),
    out_form="out",
)
defop("linalg_diagonal(Tensor(a) A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor(a)", composite=True, out=False,
      kernel=lambda A, offset, dim1, dim2: call(diagonal, [A, offset, dim1, dim2]), variants="")


def diag_embed_kernel(xp: Any, self: Any, offset: int, dim1: int, dim2: int) -> Any:
    rank = self.ndim + 1
    first, second = diagonal_dims(rank, dim1, dim2)
    length = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted([first, second]):
        shape.insert(d, length)
    return zeros_with(shape, self.dtype, lambda made: geometry.diagonal(made, offset, first, second), self)


def batch_diag_embed(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    return op(t, args[1], *[wrap_dim(d, t.ndim) + 1 for d in args[2:]]), 0


diag_embed = defop(
    "diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
    out="aten",
    kernel=diag_embed_kernel, lower="@diag_embed",
    vjp=dict(self=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2)),
    jvp="linear", batch=batch_diag_embed, pattern="moves",
    traits=("chalf",),
)


def diag(self: Any, diagonal: int) -> Any:
    """The diagonal of a matrix, or the matrix with a diagonal."""
    ndim = self.array.ndim
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    if ndim == 1:
        return call(diag_embed, [self, diagonal, -2, -1])
    return call(find_packet("diagonal_copy").default, [self, diagonal, 0, 1])      # type: ignore[union-attr]


defop("diag(Tensor self, int diagonal=0) -> Tensor", kernel=diag, composite=True, out="same", traits=("out_untracked",),
      doc="""A matrix with the given diagonal, or the diagonal of a matrix.
      >>> torch.diag(torch.tensor([1, 2]))
      tensor([[1, 0],
              [0, 2]])
      """)
defop("diagflat(Tensor self, int offset=0) -> Tensor", composite=True, out=False,
      kernel=lambda self, offset: call(diag_embed, [self.contiguous().view(-1), offset, -2, -1]))


# ---- windows
def unfold_kernel(xp: Any, self: Any, dimension: int, size: int, step: int) -> Any:
    dim = wrap_dim(dimension, self.ndim)
    most = self.shape[dim] if self.ndim else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > most:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {most} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return geometry.windows(self, dim, size, step)


def unfold_backward_kernel(xp: Any, grad_in: Any, input_sizes: Any, dim: int, size: int, step: int) -> Any:
    if not input_sizes:
        return grad_in.sum(-1) if size else xp.zeros((), grad_in.dtype)
    made = xp.zeros(tuple(input_sizes), grad_in.dtype)
    dim = wrap_dim(dim, made.ndim)
    before = (slice(None),) * dim
    reach = (grad_in.shape[dim] - 1) * step + 1
    for k in range(size):
        made[(*before, slice(k, k + reach, step))] += grad_in[..., k]
    return made


def batch_unfold(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    if t.ndim == 1:                       # unfold of 0-d examples needs a dimension
        return op(t.unsqueeze(1), 1, *args[2:]).select(1, 0), 0
    return op(t, wrap_dim(args[1], t.ndim - 1) + 1, *args[2:]), 0


unfold = defop(
    "unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)",
    kernel=unfold_kernel,
    vjp=dict(self=lambda grad, self_sym_sizes, dimension, size, step:
             call(unfold_backward, [grad, self_sym_sizes, dimension, size, step])),
    jvp="linear", batch=batch_unfold, variants="method", lower="@unfold", out=False, masked="passthrough", inverse="unfold",
)
unfold_backward = defop(
    "unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    kernel=unfold_backward_kernel, widen=True,
    vjp=dict(grad_in=lambda grad, dim, size, step: grad.unfold(dim, size, step)),
    jvp="linear", batch=batch_into("dim"), node="UnfoldBackwardBackward0", variants="",
    pattern=("scatter", 0, "unfold", (2, 3, 4), 1),
    traits=("chalf",),
    out_form="out", masked="passthrough",
)


# ---- several parts at once
def join_parts(grads: Any, sizes: Any, lengths: Any, dim: int) -> Any:
    """The gradients of all parts of a dimension as one; those in a row that got none are zeros together."""
    known = next(g for g in grads if g is not None)
    dim = dim % len(sizes)
    pieces: list[Any] = []
    for missing, run in groupby(zip(grads, lengths, strict=True), lambda part: part[0] is None):
        if missing:
            pieces.append(known.new_zeros((*sizes[:dim], sum([n for _, n in run]), *sizes[dim + 1:])))
        else:
            pieces.extend([grad for grad, _ in run])
    return late.cat(pieces, dim)


def unbind_kernel(xp: Any, self: Any, dim: int) -> Any:
    if self.ndim == 0:
        raise IndexError(f"Dimension specified as {wrap_dim(dim, 0)} but tensor has no dimensions")
    dim = wrap_dim(dim, self.ndim)
    return [geometry.selected(self, dim, i) for i in range(self.shape[dim])]


def unbind_rule(grads: Any, dim: int) -> Any:
    if all([g is not None for g in grads]):
        return late.stack(grads, dim)
    shape = next(g.array.shape for g in grads if g is not None)
    dim = wrap_dim(dim, len(shape) + 1)
    return join_parts([None if g is None else g.unsqueeze(dim) for g in grads], (*shape[:dim], len(grads), *shape[dim:]),
                      [1] * len(grads), dim)


unbind = defop(
    "unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]",
    kernel=unbind_kernel, vjp=dict(self=unbind_rule), jvp="linear", batch=shift_dims("dim", strict=True),
    lower="@unbind", out=False, masked="passthrough", inverse="unbind",
    doc="""Views at each index of a dimension.
    >>> torch.unbind(torch.tensor([1, 2]))
    (tensor(1), tensor(2))
    """,
)


def split_lengths(size: int, split_size: int) -> list[int]:
    if split_size == 0:
        return [size]
    count = max(-(-size // split_size), 1)
    return [split_size] * (count - 1) + [size - split_size * (count - 1)]


def split_kernel(xp: Any, self: Any, split_size: int, dim: int) -> Any:
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    dim = wrap_dim(dim, self.ndim)
    size = self.shape[dim]
    if split_size == 0 and size != 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
    return parts(self, dim, split_lengths(size, split_size))


def parts(array: Any, dim: int, lengths: Any) -> Any:
    made, start = [], 0
    for length in lengths:
        made.append(geometry.sliced(array, dim, start, start + length, 1))
        start += length
    return made


def split_with_sizes_kernel(xp: Any, self: Any, split_sizes: Any, dim: int) -> Any:
    if self.ndim == 0:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = wrap_dim(dim, self.ndim)
    for n in split_sizes:
        if n < 0:
            raise RuntimeError("split_with_sizes expects split_sizes have only non-negative entries, but got "
                               f"split_sizes={list(split_sizes)}")
    if sum(split_sizes) != self.shape[dim]:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's "
                           f"size at "
                           f"dimension {dim}), but got split_sizes={list(split_sizes)}")
    return parts(self, dim, split_sizes)


def split_rule(grads: Any, self_sym_sizes: Any, split_size: int, dim: int) -> Any:
    return join_parts(grads, self_sym_sizes, split_lengths(self_sym_sizes[dim], split_size), dim)


def split_with_sizes_rule(grads: Any, self_sym_sizes: Any, split_sizes: Any, dim: int) -> Any:
    return join_parts(grads, self_sym_sizes, split_sizes, dim)


split_tensor = defop(
    "split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]",
    kernel=split_kernel, vjp=dict(self=split_rule), jvp="linear", batch=shift_dims("dim", strict=True), variants="",
    lower="@split", out=False, masked="passthrough", inverse="split",
    doc="""Views of the given size, or sizes, along a dimension.
    >>> torch.split(torch.arange(5), 2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """,
)
split_with_sizes = defop(
    "split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]",
    kernel=split_with_sizes_kernel, vjp=dict(self=split_with_sizes_rule), jvp="linear", batch=shift_dims("dim", strict=True),
    lower="@split_with_sizes", out=False, masked="passthrough", inverse="split",
)
split_sizes = defop(
    "split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]", composite=True, variants="", out=False,
    kernel=lambda self, split_size, dim: call(split_with_sizes, [self, split_size, dim]),
)
unsafe_split = defop(
    "unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
    kernel=split_kernel, vjp=dict(self=split_rule), jvp="linear", batch=shift_dims("dim", strict=True),
    lower="@split", out=False, pattern="moves",
    traits=("chalf",),
)
unsafe_split_with_sizes = defop(
    "unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
    kernel=split_with_sizes_kernel, vjp=dict(self=split_with_sizes_rule), jvp="linear", batch=shift_dims("dim", strict=True),
    lower="@split_with_sizes", out=False, pattern="moves",
    traits=("chalf",),
)


def split_either(tensor: Any, size: Any, dim: int) -> tuple[Any, ...]:
    if isinstance(size, Tensor):
        size = int(size.item()) if size.array.ndim == 0 else size.tolist()
    if isinstance(size, int):
        return tuple(call(split_tensor, [tensor, size, dim]))
    return late.split_with_sizes(tensor, size, dim)


@expose(method=False)
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of a given length, or of given lengths, as views."""
    return split_either(tensor, split_size_or_sections, dim)


def split_method(self: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of a given length, or of given lengths, as views."""
    return split_either(self, split_size, dim)


split_method.__qualname__ = "Tensor.split"
expose(split_method, name="split", plain=False)


def chunks(name: str, one: Any, many: Any) -> Any:
    def kernel(self: Any, chunks: int, dim: int) -> Any:
        """At most `chunks` parts of nearly equal length."""
        ndim = self.array.ndim
        if ndim == 0:
            raise RuntimeError(f"{name} expects at least a 1-dimensional tensor" if name == "chunk" else
                               "chunk expects at least a 1-dimensional tensor")
        if chunks <= 0:
            raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
        size = self.array.shape[wrap_dim(dim, ndim)]
        length = -(-size // chunks)
        if length == 0 and size == 0:
            return call(many, [self, [0] * chunks, dim])
        return call(one, [self, length, dim])
    return kernel


defop("chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]", composite=True, out=False,
      kernel=chunks("chunk", split_tensor, split_with_sizes),
      doc="""A number of views of equal size along a dimension; the last may be smaller.
      >>> torch.chunk(torch.arange(5), 2)
      (tensor([0, 1, 2]), tensor([3, 4]))
      """)
defop("unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", composite=True, out=False,
      kernel=chunks("unsafe_chunk", unsafe_split, unsafe_split_with_sizes))


def tensor_split_sections(self: Any, sections: int, dim: int) -> Any:
    """Parts whose lengths differ by one at most, the longer ones first."""
    ndim = self.array.ndim
    if ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, ndim)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    short, longer = divmod(self.array.shape[dim], sections)
    made, start = [], 0
    for i in range(sections):
        end = start + short + (i < longer)
        made.append(call(slice_, [self, dim, start, end, 1]))
        start = end
    return made


def tensor_split_indices(self: Any, indices: Any, dim: int) -> Any:
    """Parts between the given positions."""
    ndim = self.array.ndim
    if ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = wrap_dim(dim, ndim)
    made, start = [], 0
    for end in indices:
        made.append(call(slice_, [self, dim, start, end, 1]))
        start = end
    made.append(call(slice_, [self, dim, start, self.array.shape[dim], 1]))
    return made


def tensor_split_tensor(self: Any, tensor_indices_or_sections: Any, dim: int) -> Any:
    given = tensor_indices_or_sections
    if given.array.dtype != np.int64:
        raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                           f"{given.dtype.legacy}")
    if given.array.ndim > 1:
        raise RuntimeError("tensor_split expected tensor_indices_or_sections to be a zero-dimensional or "
                           "one-dimensional "
                           f"tensor, but got a tensor with {given.array.ndim} dims")
    if given.array.ndim == 0:
        return tensor_split_sections(self, given.item(), dim)
    return tensor_split_indices(self, given.tolist() if given._flags else given.array.tolist(), dim)


defop("tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> "
      "Tensor(a)[]", composite=True, out=False, kernel=tensor_split_tensor)
defop("tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]", composite=True,
      out=False,
      kernel=tensor_split_sections)
defop("tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]", composite=True,
      out=False,
      kernel=tensor_split_indices)


def split_along(name: str, least: int, dim: int) -> None:
    """hsplit, vsplit and dsplit."""
    def axis(self: Any) -> int:
        ndim = self.array.ndim
        if ndim < least:
            raise RuntimeError(f"torch.{name} requires a tensor with at least {least} dimension, but "
                               f"got a tensor with {ndim} dimensions!")
        return 0 if name == "hsplit" and ndim == 1 else dim

    def sections_kernel(self: Any, sections: int) -> Any:
        d = axis(self)
        size = self.array.shape[d]
        if sections == 0 or size % sections:
            raise RuntimeError(f"torch.{name} attempted to split along dimension {d}, but the size of the dimension "
                               f"{size} is "
                               f"not divisible by the split_size {sections}!")
        return tensor_split_sections(self, sections, d)

    defop(f"{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]", composite=True, kernel=sections_kernel,
          out=False)
    defop(f"{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]", composite=True, out=False,
          kernel=lambda self, indices: tensor_split_indices(self, indices, axis(self)))


split_along("hsplit", 1, 1)
split_along("vsplit", 2, 0)
split_along("dsplit", 3, 2)


# ---- scatter forms: a copy in which one part is replaced
def scattered(self: Any, src: Any, place: Any, part_name: str, name: str) -> Any:
    """A copy of `self` with its strides, in which the part selected by `place` is `src`."""
    made = geometry.clone_preserving_strides(self)
    part = place(made)
    if part.shape != src.shape:
        raise RuntimeError(f"expected src to have a size equal to the {part_name} of self. src size = "
                           f"{list(src.shape)}, "
                           f"{name} size = {list(part.shape)}")
    part[...] = src.astype(self.dtype, copy=False)
    return made


def zeros_for(grad: Any, kernel: Any, *place: Any) -> Any:
    """Zeros for the part of the gradient selected by a view kernel."""
    return zeros_beside(grad, kernel(np, grad.array, *place).shape)


select_scatter = defop(
    "select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor",
    out="aten",
    lower="@select_scatter",
    kernel=lambda xp, self, src, dim, index: scattered(
        self, src, lambda made: select_kernel(xp, made, dim, index), "slice", "slice"),
    vjp=dict(self=lambda grad, dim, index:
             grad.select_scatter(zeros_for(grad, select_kernel, dim, index), dim, index),
             src=lambda grad, dim, index: grad.select(dim, index)),
    jvp=lambda self_t, src_t, dim, index: self_t.select_scatter(src_t, dim, index), batch=batch_scatter("dim"),
    real_only=True, pattern="moves",
    traits=("chalf",),
)
slice_scatter = defop(
    "slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
    lower="@slice_scatter",
    kernel=lambda xp, self, src, dim, start, end, step: scattered(
        self, src, lambda made: slice_kernel(xp, made, dim, start, end, step), "slice", "slice"),
    vjp=dict(self=lambda grad, dim, start, end, step: grad.slice_scatter(
        zeros_for(grad, slice_kernel, dim, start, end, step), dim, start, end, step),
             src=lambda grad, dim, start, end, step: call(slice_, [grad, dim, start, end, step])),
    jvp=lambda self_t, src_t, dim, start, end, step: self_t.slice_scatter(src_t, dim, start, end, step),
    batch=batch_scatter("dim"), real_only=True, pattern="moves", traits=("out_untracked", "chalf", "any_device"),
)
diagonal_scatter = defop(
    "diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    out="aten",
    lower="@diagonal_scatter",
    kernel=lambda xp, self, src, offset, dim1, dim2: scattered(
        self, src, lambda made: diagonal_kernel(xp, made, offset, dim1, dim2), "slice", "slice"),
    vjp=dict(self=lambda grad, offset, dim1, dim2: grad.diagonal_scatter(
        zeros_for(grad, diagonal_kernel, offset, dim1, dim2), offset, dim1, dim2),
             src=lambda grad, offset, dim1, dim2: grad.diagonal(offset, dim1, dim2)),
    jvp=lambda self_t, src_t, offset, dim1, dim2: self_t.diagonal_scatter(src_t, offset, dim1, dim2),
    batch=batch_scatter("dim1", "dim2"), pattern="moves",
    traits=("chalf",),
)


def in_memory(grad: Any, self_geometry: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """The gradient in the layout of `self`: views of the whole and of the written part."""
    shape, steps, start = self_geometry
    offset = start if storage_offset is None else storage_offset
    first = min(start, offset)
    length = 1 + max([at - first + sum([(n - 1) * s for n, s in zip(sizes, strides, strict=True)])
                      for sizes, strides, at in ((shape, steps, start), (size, stride, offset))])
    memory = grad.new_zeros((max(length, 0),))
    memory.as_strided(shape, steps, start - first).copy_(grad)
    return memory, (size, stride, offset - first), (shape, steps, start - first)


def as_strided_scatter_self(grad: Any, self_geometry: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    memory, part, whole = in_memory(grad, self_geometry, size, stride, storage_offset)
    memory.as_strided(*part).zero_()
    return memory.as_strided(*whole)


def as_strided_scatter_src(grad: Any, self_geometry: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    shape, steps, start = self_geometry
    if steps == storage.contiguous_strides(shape):
        offset = 0 if storage_offset is None else storage_offset - start
        return grad.contiguous().as_strided(size, stride, offset)
    memory, part, _ = in_memory(grad, self_geometry, size, stride, storage_offset)
    return memory.as_strided(*part)


def batch_as_strided_scatter(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    both = [move_to_front(a, d) if d is not None else a.unsqueeze(0).expand(size, *a.shape)
            for a, d in zip(args[:2], dims[:2], strict=True)]
    whole = both[0].contiguous()
    return op(whole, both[1], (size, *args[2]), (whole.stride(0), *args[3]), args[4]), 0


as_strided_scatter = defop(
    "as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> "
    "Tensor",
    out="aten",
    kernel=lambda xp, self, src, size, stride, storage_offset: scattered(
        self, src, lambda made: geometry.strided(made, size, stride, storage_offset), "slice", "slice"),
    vjp=dict(self=as_strided_scatter_self, src=as_strided_scatter_src),
    jvp=lambda self_t, src_t, size, stride, storage_offset:
        self_t.as_strided_scatter(src_t, size, stride, storage_offset),
    batch=batch_as_strided_scatter, pattern="moves",
    traits=("chalf",),
)


def slice_inverse_kernel(xp: Any, self: Any, src: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    return storage.strided(self, src.shape, storage.strides_of(src), storage.offset_of(src))


slice_inverse = defop(
    "slice_inverse(Tensor(a) self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> "
    "Tensor(a)",
    kernel=slice_inverse_kernel,
    vjp=dict(self=lambda grad, dim, start, end, step: call(slice_, [grad, dim, start, end, step]),
             src=lambda grad, dim, start, end, step: grad.slice_scatter(
                 zeros_for(grad, slice_kernel, dim, start, end, step), dim, start, end, step)),
    jvp="linear", batch=batch_scatter("dim"), out=False, real_only=True,
)
