"""Views that change the shape: reshaping, permuting, broadcasting, adding and dropping dimensions."""
from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import storage
from retrograd.core.api import expose
from retrograd.core.dispatch import call, is_ordinary, make_view, transpose_matrix
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.kernels import broadcast_problem
from retrograd.core.opdef import OpDef, defop
from retrograd.core.reserved import contiguous_array
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import alias, clone, contiguous, contiguous_format
from retrograd.ops.shared import geometry
from retrograd.ops.shared.families import move_to_front, shift_dims, wrap_dim, wrap_dims


# ---- batching rules: the batch dimension goes first
def batch_sizes(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """For ops whose second argument is the new shape."""
    return op(move_to_front(args[0], dims[0]), (size, *args[1]), *args[2:]), 0


def batch_unsafe_view(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of _unsafe_view: copies where the batch dimension prevents a view."""
    t = move_to_front(args[0], dims[0])
    shape = (size, *geometry.infer_size(args[1], t.array.size // size if size else 0))
    if geometry.view_strides(t.array.shape, storage.strides_of(t.array), shape) is None:
        t = t.contiguous()
    return op(t, shape), 0


def batch_expand(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    missing = len(args[1]) - (t.ndim - 1)
    if missing < 0:
        raise RuntimeError(f"expand: the number of sizes provided ({len(args[1])}) must be greater or equal to the number of "
                           f"dimensions in the tensor ({t.ndim - 1})")
    if missing > 0:
        t = t.reshape((size,) + (1,) * missing + tuple(t.shape[1:]))
    return op(t, (size, *args[1])), 0


def batch_t(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    if t.ndim > 3:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {t.ndim - 1}D")
    return (t.transpose(1, t.ndim - 1) if t.ndim > 1 else t), 0


def batch_permute(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    return op(t, (0, *[d + 1 for d in wrap_dims(args[1], t.ndim - 1)])), 0


def batch_squeeze(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    given = range(t.ndim - 1) if len(args) == 1 else args[1] if isinstance(args[1], (list, tuple)) else (args[1],)
    wrapped = [wrap_dim(d, t.ndim - 1) + 1 for d in given]
    return call(squeeze_dims, [t, wrapped if t.ndim > 1 else []]), 0


def batch_unsqueeze(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    return op(t, wrap_dim(args[1], t.ndim) + 1), 0


def batch_as_strided(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    t = move_to_front(args[0], dims[0])
    offset = args[3]
    return op(t, (size, *args[1]), (t.stride(0), *args[2]), t.storage_offset() if offset is None else offset), 0


# ---- view and reshape
def check_last_stride(strides: Any, array: Any, dtype: Any) -> None:
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {two_names(array, dtype)}, but got {strides[-1]}")


def two_names(array: Any, dtype: Any) -> str:
    return f"to view {BY_NUMPY[array.dtype].legacy} as {BY_NUMPY[dtype].legacy} (different element sizes)"


def view_dtype(xp: Any, self: Any, dtype: Any) -> Any:
    have, wanted = self.itemsize, dtype.itemsize
    if self.ndim and self.size and self.base is None and self.flags.c_contiguous and 1 not in self.shape and (
            self.shape[-1] * have % wanted == 0 and self.shape[-1] * have > wanted):
        return self.view(dtype)
    if have == wanted:
        return geometry.reinterpreted(self, dtype, self.shape, storage.strides_of(self))
    if self.ndim == 0:
        raise RuntimeError(f"self.dim() cannot be 0 {two_names(self, dtype)}")
    shape, strides, offset = self.shape, storage.strides_of(self), storage.offset_of(self)
    if have > wanted:
        check_last_stride(strides, self, dtype)
        ratio = have // wanted
        steps = (*[s * ratio for s in strides[:-1]], 1)
        return geometry.reinterpreted(self, dtype, (*shape[:-1], shape[-1] * ratio), steps)
    ratio = wanted // have
    if shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {two_names(self, dtype)}, but got {shape[-1]}")
    if offset % ratio:
        raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} {two_names(self, dtype)}, but got {offset}")
    check_last_stride(strides, self, dtype)
    for i, s in enumerate(strides[:-1]):
        if s % ratio:
            raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} {two_names(self, dtype)}, but got {s}")
    steps = (*[s // ratio for s in strides[:-1]], 1)
    return geometry.reinterpreted(self, dtype, (*shape[:-1], shape[-1] // ratio), steps)


def batch_contiguous(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    return op(move_to_front(args[0], dims[0]).contiguous(), *args[1:]), 0


view_as_dtype = defop(
    "view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)",
    kernel=view_dtype, batch=batch_contiguous, variants="method", out=False, masked="passthrough", inverse="view",
)
view = defop(
    "view(Tensor(a) self, SymInt[] size) -> Tensor(a)",
    kernel=lambda xp, self, size: geometry.viewed(self, geometry.infer_size(size, self.size)),
    vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", batch=batch_sizes, variants="method", lower="@view", out=False, series="reshape",
)
unsafe_view = defop(
    "_unsafe_view(Tensor self, SymInt[] size) -> Tensor",
    kernel=lambda xp, self, size: geometry.viewed(self, geometry.infer_size(size, self.size)),
    vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", batch=batch_unsafe_view, variants="",
    meta=lambda xp, self, size: geometry.viewed(self, geometry.infer_size(size, self.size)), pattern="moves",
    series="reshape", masked="passthrough", traits=("chalf",),
)
reshape_alias = defop(
    "_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)",
    kernel=lambda xp, self, size, stride: storage.strided(self, size, stride),
    vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", batch=lambda op, args, dims, size: (move_to_front(args[0], dims[0]).reshape((size, *args[1])), 0),
    variants="function",
    traits=("chalf",), series="reshape", masked="passthrough", inverse="reshape",
)
reshape_copy = defop(
    "_reshape_copy(Tensor self, SymInt[] size) -> Tensor",
    kernel=lambda xp, self, size: xp.array(self, order="C").reshape(geometry.infer_size(size, self.size)),
    meta=lambda xp, self, size: contiguous_array(geometry.infer_size(size, self.size), self.dtype),
    vjp=dict(self=lambda grad, self_sym_sizes: grad.reshape(self_sym_sizes)),
    jvp="linear", batch=batch_sizes, variants="", out=False, pattern="moves",
    traits=("chalf",),
)


def reshaped(self: Any, shape: Any) -> Any:
    """A view if the strides allow it, else a copy."""
    source = self
    array = source.array
    if array.flags.c_contiguous and is_ordinary(source):
        made = storage.reshaped(array, shape)
        if made is not None:
            return make_view(view, source, (made.shape,), made)
    size = geometry.infer_size(shape, array.size)
    if array.flags.c_contiguous:
        return call(view, [self, size])
    strides = geometry.view_strides(array.shape, storage.strides_of(array), size)
    if strides is not None:
        if self._flags & FLAG_SUBCLASS or (switches.any_mode and tls.dispatch_modes) or (
                self._flags & FLAG_WRAPPER and getattr(self._extra.batch, "dim", None) is not None):
            return call(view, [self, size])
        return call(reshape_alias, [self, size, strides])
    return call(unsafe_view, [call(clone, [self, contiguous_format]), size])


reshape = defop("reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)", kernel=reshaped, composite=True, out=False,
      doc="""The same elements in another shape; -1 stands for what fits.
      >>> torch.reshape(torch.arange(4), (2, -1))
      tensor([[0, 1],
              [2, 3]])
      """)
defop("reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)", composite=True, variants="method", out=False,
      kernel=lambda self, other: reshaped(self, other.array.shape))
defop("view_as(Tensor(a) self, Tensor other) -> Tensor(a)", composite=True, variants="method", out=False,
      kernel=lambda self, other: call(view, [self, other.array.shape]))
defop("ravel(Tensor(a) self) -> Tensor(a)", composite=True, out=False,
      kernel=lambda self: reshaped(self if not self._flags and self.array.flags.c_contiguous else contiguous(self), (-1,)))


def flattened(self: Any, start_dim: int, end_dim: int) -> Any:
    """Several neighbouring dimensions as one."""
    shape = self.array.shape
    if start_dim == 0 and end_dim == -1 and len(shape) > 1 and 0 not in shape:
        return reshaped(self, (-1,))
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshaped(self, (1,))
    if start == end:
        return self
    count = 1
    for n in shape[start:end + 1]:
        count *= n
    return reshaped(self, (*shape[:start], count, *shape[end + 1:]))


def unflattened(self: Any, dim: int, sizes: Any) -> Any:
    """One dimension as several."""
    shape = self.array.shape
    dim = wrap_dim(dim, len(shape))
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    if not shape:
        raise RuntimeError("unflatten got an unexpected error:\nDimension specified as 0 but tensor has no dimensions")
    known = 1
    for n in sizes:
        known *= n if n != -1 else 1
    unknown = list(sizes).count(-1)
    if unknown > 1:
        raise RuntimeError("unflatten got an unexpected error:\nonly one dimension can be inferred")
    if (known != shape[dim] and not unknown) or (unknown and (known == 0 or shape[dim] % known)):
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
                           f"({shape[dim]}) in the input tensor")
    sizes = geometry.infer_size(sizes, shape[dim])
    return call(view, [self, (*shape[:dim], *sizes, *shape[dim + 1:])])


defop("flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)", kernel=flattened,
      composite=True,
      out=False,
      doc="""Dimensions `start_dim` to `end_dim` made one.
      >>> torch.flatten(torch.ones(2, 3, 4), 1).shape
      torch.Size([2, 12])
      """)
defop("unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)", kernel=unflattened, composite=True,
      out=False)

# ---- broadcasting
expand = defop(
    "expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)",
    kernel=lambda xp, self, size, implicit: geometry.expanded(self, size),
    vjp=dict(self=lambda grad, self_sym_sizes: grad.sum_to_size(self_sym_sizes) if self_sym_sizes else grad.sum()),
    jvp="linear", batch=batch_expand, variants="method", lower="@expand", out=False, masked="passthrough", inverse="expand",
)
defop("expand_as(Tensor(a) self, Tensor other) -> Tensor(a)", composite=True, variants="method", out=False,
      kernel=lambda self, other: call(expand, [self, other.array.shape, False]))
defop("broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)", composite=True, out=False,
      kernel=lambda self, size: call(expand, [self, size, False]),
      doc="""A view of a larger shape, in which elements are repeated.
      >>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))
      tensor([[1, 2],
              [1, 2]])
      """)


def unpacked(tensors: Any) -> Any:
    """The tensors of a call that takes them one by one or as one sequence."""
    return tensors_only(tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors)


def tensors_only(tensors: Any) -> Any:
    """The tensors of a call that takes them one by one."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    return tensors


def broadcast_shape(shapes: Any) -> tuple[int, ...]:
    result: tuple[int, ...] = ()
    for shape in shapes:
        problem = broadcast_problem(result, shape)
        if problem is not None:
            raise RuntimeError(problem)
        short, long = sorted([result, tuple(shape)], key=len)
        padded = (1,) * (len(long) - len(short)) + short
        result = tuple([a if b == 1 else b for a, b in zip(padded, long, strict=True)])
    return result


@expose(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All tensors expanded to their common shape."""
    for i, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    shape = broadcast_shape([t.array.shape for t in tensors])
    return tuple([t if t.array.shape == shape else call(expand, [t, shape, False]) for t in tensors])


@expose(method=False)
def meshgrid(*tensors: Any, indexing: Any = None) -> tuple[Any, ...]:
    """Grids of coordinates out of 1-D tensors."""
    tensors = unpacked(tensors)
    if indexing is None:
        warnings.warn("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
                      UserWarning, stacklevel=3)
        indexing = "ij"
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors[1:]:
        if t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    swap = indexing == "xy" and len(tensors) >= 2
    if indexing not in ("xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else list(tensors)
    for t in ordered:
        if t.array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                               f"{t!r}")
    shape = tuple([t.array.size for t in ordered])
    grids = []
    for i, t in enumerate(ordered):
        flat = call(view, [t, (1,) * i + (-1,) + (1,) * (len(ordered) - 1 - i)])
        grids.append(call(expand, [flat, shape, False]))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


# ---- any geometry
def as_strided_backward(grad: Any, self_geometry: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """Scatter the gradient into memory laid out like the input's, adding where several positions share a place."""
    shape, steps, start = self_geometry
    offset = start if storage_offset is None else storage_offset
    size, stride = list(size), list(stride)
    for i in range(len(size) - 1, -1, -1):
        if size[i] == 0:
            return grad.new_zeros(shape)
        if size[i] == 1:
            grad = grad.squeeze(i)
        elif stride[i] == 0:
            grad = grad.sum(i, False)
        else:
            continue
        del size[i], stride[i]
    kept = [i for i, n in enumerate(shape) if n != 1]
    if 0 in shape:
        return grad.new_zeros(shape)
    inner, inner_steps = [shape[i] for i in kept], [steps[i] for i in kept]
    out_overlaps = geometry.check_overlap(size, stride)
    in_overlaps = geometry.check_overlap(inner, inner_steps)
    first = min(start, offset)
    start, offset = start - first, offset - first
    length = max(extent(inner, inner_steps, start), extent(size, stride, offset))
    memory = grad.new_zeros((length,))
    places = np.arange(length)
    if out_overlaps:
        targets = new_tensor(storage.strided(places, size, stride, offset).reshape(-1))
        memory = memory.index_add_(0, targets, grad.reshape(-1))
    else:
        memory.as_strided(size, stride, offset).copy_(grad)
    if in_overlaps:
        index = storage.strided(places, inner, inner_steps, start).reshape(-1)
        count = np.bincount(index, minlength=length).astype(grad.array.dtype)
        memory.div_(new_tensor(count))
    return memory.as_strided(shape, steps, start)


def extent(shape: Any, strides: Any, offset: int) -> int:
    return offset + 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


as_strided = defop(
    "as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    kernel=lambda xp, self, size, stride, storage_offset: geometry.strided(self, size, stride, storage_offset),
    vjp=dict(self=as_strided_backward),
    jvp="linear", batch=batch_as_strided, lower="@as_strided", out=False,
)


# ---- permutations
t = defop(
    "t(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: geometry.permuted(self, (1, 0)) if self.ndim == 2 else checked_t(self),
    vjp=dict(self=lambda grad: transpose_matrix(grad)),
    jvp="linear", batch=batch_t, lower="@t", out=False, masked="passthrough", inverse="itself",
    doc="""A matrix with its dimensions exchanged.
    >>> torch.t(torch.tensor([[1, 2], [3, 4]]))
    tensor([[1, 3],
            [2, 4]])
    """,
)


def checked_t(array: Any) -> Any:
    if array.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {array.ndim}D")
    return geometry.permuted(array, range(array.ndim))


def batch_transpose(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    if args[0].ndim == 1 and args[1] in (0, -1) and args[2] in (0, -1):
        return args[0], dims[0]               # 0-d examples have nothing to transpose
    return exchanged(op, args, dims, size)


exchanged = shift_dims("dim0", "dim1")
transpose = defop(
    "transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kernel=lambda xp, self, dim0, dim1: transposed(self, dim0, dim1),
    vjp=dict(self=lambda grad, dim0, dim1: grad.transpose(dim0, dim1)),
    jvp="linear", batch=batch_transpose, lower="@transpose", out=False, masked="passthrough", inverse="itself",
    doc="""A view with two dimensions exchanged.
    >>> torch.transpose(torch.ones(2, 3), 0, 1).shape
    torch.Size([3, 2])
    """,
)


def transposed(array: Any, dim0: int, dim1: int) -> Any:
    ndim = array.ndim
    dim0, dim1 = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    return geometry.swapped(array, dim0, dim1) if ndim else array[...]


def permute_kernel(xp: Any, self: Any, dims: Any) -> Any:
    ndim = self.ndim
    if len(dims) != ndim:
        raise RuntimeError(f"permute(sparse_coo): number of dimensions in the tensor input does not match the length "
                           f"of the "
                           f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = "
                           f"{len(dims)}")
    axes = [wrap_dim(d, ndim) for d in dims]
    if len(set(axes)) != ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return geometry.permuted(self, axes)


def inverse_order(dims: Any) -> list[int]:
    ndim = len(dims)
    result = [0] * ndim
    for i, d in enumerate(dims):
        result[d % ndim] = i
    return result


permute = defop(
    "permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    kernel=permute_kernel,
    vjp=dict(self=lambda grad, dims: grad.permute(inverse_order(dims))),
    jvp="linear", batch=batch_permute, lower="@permute", out=False, masked="passthrough", inverse="permute",
    doc="""A view with the dimensions in another order.
    >>> torch.permute(torch.ones(2, 3, 4), (2, 0, 1)).shape
    torch.Size([4, 2, 3])
    """,
)


def movedim(self: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest in order."""
    if isinstance(source, int):
        source, destination = (source,), (destination,)
    if not self.array.ndim:
        order_of_moved(0, tuple(source), tuple(destination))
        return call(alias, [self])
    return call(permute, [self, list(order_of_moved(self.array.ndim, tuple(source), tuple(destination)))])


@lru_cache(256)
def order_of_moved(ndim: int, source: Any, destination: Any) -> Any:
    """The permutation for moved dimensions."""
    if len(source) != len(destination):
        raise RuntimeError(f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain "
                           f"the same "
                           f"number of dims as destination ({list(destination)} dims)")
    sources, targets = [wrap_dim(d, ndim) for d in source], [wrap_dim(d, ndim) for d in destination]
    if len(set(sources)) != len(sources):
        raise RuntimeError(f"movedim: repeated dim in `source` ({list(source)})")
    if len(set(targets)) != len(targets):
        raise RuntimeError(f"movedim: repeated dim in `destination` ({list(destination)})")
    if ndim == 0:
        return ()
    order = [-1] * ndim
    for s, d in zip(sources, targets, strict=True):
        order[d] = s
    rest = iter([i for i in range(ndim) if i not in sources])
    return tuple([next(rest) if d < 0 else d for d in order])


for name in ("movedim", "moveaxis"):
    defop(f"{name}.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)", kernel=movedim,
          composite=True,
          out=False)
    defop(f"{name}.int(Tensor(a) self, int source, int destination) -> Tensor(a)", kernel=movedim, composite=True,
          out=False)
for schema in ("swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)",
               "swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"):
    defop(schema, kernel=lambda self, dim0, dim1: call(transpose, [self, dim0, dim1]), composite=True, out=False,
          alias=("transpose", "int"))


def matrix_transpose(self: Any, what: str) -> Any:
    ndim = self.array.ndim
    if ndim < 2:
        raise RuntimeError(f"{what} is only supported on matrices or batches of matrices. Got {ndim}-D tensor.")
    return call(transpose, [self, -2, -1])


def conjugate_transpose(self: Any, what: str) -> Any:
    moved = matrix_transpose(self, what)
    return late.conj(moved) if moved.array.dtype.kind in "cW" else moved


defop("adjoint(Tensor(a) self) -> Tensor(a)", composite=True, out=False,
      kernel=lambda self: conjugate_transpose(self, "tensor.adjoint()") if self.ndim else self.conj())


@expose(plain=False, method=False)
def numpy_T(self: Any) -> Any:
    """`x.T`: all dimensions reversed."""
    ndim = self.array.ndim
    if ndim not in (0, 2):
        warnings.warn("The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and "
                      "it will throw an error in a future release. Consider `x.mT` to transpose batches of matrices or "
                      "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor.",
                      UserWarning, stacklevel=3)
    elif ndim == 0:
        warnings.warn("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.",
                      UserWarning, stacklevel=3)
    return call(permute, [self, tuple(range(ndim - 1, -1, -1))])


@expose(plain=False, method=False)
def mT(self: Any) -> Any:
    """`x.mT`: the last two dimensions swapped."""
    if self.array.ndim == 0:
        warnings.warn("Tensor.mT is deprecated on 0-D tensors. This function is the identity in these cases.",
                      UserWarning,
                      stacklevel=3)
        return self
    return matrix_transpose(self, "tensor.mT")


@expose(plain=False, method=False)
def mH(self: Any) -> Any:
    """`x.mH`: the last two dimensions swapped and conjugated."""
    if self.array.ndim == 0:
        warnings.warn("Tensor.mH is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=3)
        return late.conj(self)
    return conjugate_transpose(self, "tensor.mH")


@expose(plain=False, method=False)
def matrix_H(self: Any) -> Any:
    """`x.H`: a matrix transposed and conjugated."""
    ndim = self.array.ndim
    if ndim == 0:
        warnings.warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().", UserWarning, stacklevel=3)
        return late.conj(self)
    if ndim != 2:
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
                           + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else ""))
    return conjugate_transpose(self, "tensor.H")


# ---- dimensions of size 1
def squeezed(self: Any, dims: Any) -> Any:
    ndim = self.ndim
    chosen = tuple([d for d in wrap_dims(dims, ndim) if ndim and self.shape[d] == 1])
    return geometry.without_dims(self, chosen) if ndim else self[...]


def unsqueeze_to(grad: Any, sizes: Any, dims: Any = None) -> Any:
    """Put back the dimensions of size 1 that squeeze dropped."""
    if not sizes:
        return grad
    wanted = range(len(sizes)) if dims is None else sorted([d % len(sizes) for d in dims])
    for d in wanted:
        if sizes[d] == 1:
            grad = grad.unsqueeze(d)
    return grad


squeeze = defop(
    "squeeze(Tensor(a) self) -> Tensor(a)",
    kernel=lambda xp, self: squeezed(self, range(self.ndim)),
    vjp=dict(self=lambda grad, self_sym_sizes: unsqueeze_to(grad, self_sym_sizes)),
    jvp="linear", batch=batch_squeeze, node="SqueezeBackward0", lower="@squeeze", out=False,
    masked="passthrough", inverse="squeeze",
    doc="""A view without dimensions of size 1.
    >>> torch.squeeze(torch.ones(1, 2, 1)).shape
    torch.Size([2])
    """,
)
squeeze_dim = defop(
    "squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    kernel=lambda xp, self, dim: squeezed(self, (dim,)),
    vjp=dict(self=lambda grad, self_sym_sizes, dim: unsqueeze_to(grad, self_sym_sizes, (dim,))),
    jvp="linear", batch=batch_squeeze, node="SqueezeBackward1", lower="@squeeze", out=False,
)
squeeze_dims = defop(
    "squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)",
    kernel=lambda xp, self, dim: squeezed(self, dim),
    vjp=dict(self=lambda grad, self_sym_sizes, dim: unsqueeze_to(grad, self_sym_sizes, dim)),
    jvp="linear", batch=batch_squeeze, node="SqueezeBackward2", lower="@squeeze", out=False,
)
unsqueeze = defop(
    "unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    kernel=lambda xp, self, dim: geometry.with_dim(self, wrap_dim(dim, self.ndim + 1)),
    vjp=dict(self=lambda grad, dim: grad.squeeze(dim)),
    jvp="linear", batch=batch_unsqueeze, lower="@unsqueeze", out=False, masked="passthrough", inverse="unsqueeze",
    doc="""A view with a new dimension of size 1.
    >>> torch.unsqueeze(torch.ones(2), 0).shape
    torch.Size([1, 2])
    """,
)


def at_least(rank: int) -> Any:
    def one(self: Any) -> Any:
        ndim = self.array.ndim
        if ndim >= rank:
            return self
        if ndim == 0:
            return reshaped(self, (1,) * rank)
        front = call(unsqueeze, [self, 0]) if ndim == 1 and rank > 1 else self
        return call(unsqueeze, [front, -1]) if rank == 3 else front

    def function(*tensors: Any) -> Any:
        """Views with at least this many dimensions."""
        if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
            return one(tensors[0])
        return tuple([one(x) for x in unpacked(tensors)])
    return function


for rank in (1, 2, 3):
    expose(at_least(rank), name=f"atleast_{rank}d", method=False)
