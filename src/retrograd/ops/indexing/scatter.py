"""Elements by their indices along one dimension: gather, scatter, scatter_reduce."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.core import copying, lean
from retrograd.core.dispatch import call
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.graph import Node, connect, describe_outputs, set_history
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, new_tensor, wants_grad
from retrograd.ops import late
from retrograd.ops.indexing.index import INDEX_DTYPES, INT64, add_at
from retrograd.ops.memory.copy import copied, format_strides
from retrograd.ops.shared import families
from retrograd.ops.shared.along import put_elements, put_rows, take_elements
from retrograd.ops.shared.elementwise import unsupported
from retrograd.ops.shared.families import anywhere, conj, fill_zeros, wrap_dim
from retrograd.ops.shared.numbers import number_array

HOW = {"sum": "+", "mean": "+", "prod": "*", "amax": ">", "amin": "<"}
REDUCTIONS = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def legacy(array: Any) -> str:
    """The name that errors use for an array's dtype."""
    return BY_NUMPY[array.dtype].legacy


WARNED: set[str] = set()


def warn_once(message: str) -> None:
    if message not in WARNED:
        WARNED.add(message)
        warnings.warn(message, UserWarning, stacklevel=3)


def copy_of(array: Any) -> Any:
    """A new array with the values of `array` and, where it is dense, its layout."""
    return copied(array, None, format_strides(array, None))


# ---- positions along one dimension
def grid(index: Any, dim: int) -> tuple[Any, ...]:
    """NumPy's index in which element [i, j, k] of the index tensor replaces coordinate `dim` of [i, j, k]."""
    rank, xp = index.ndim, lean.namespace_of(index)
    places: list[Any] = [xp.arange(n).reshape((-1,) + (1,) * (rank - d - 1)) for d, n in enumerate(index.shape)]
    places[dim] = xp.ascontiguousarray(index)
    return tuple(places)


def check_within(index: Any, dim: int, size: int) -> None:
    if not lean.within(index, 0, size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")


def at_least_1d(array: Any) -> Any:
    return array if array is None or array.ndim else array.reshape(1)


def check_scatter(name: str, self: Any, dim: int, index: Any, src: Any) -> None:
    """PyTorch's conditions on the operands of gather (no `src`, name "gather") and of the scatters."""
    if index.size and index.dtype not in INDEX_DTYPES:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if not index.size:
        return
    given = src
    index, self, src = at_least_1d(index), at_least_1d(self), at_least_1d(src)
    if index.ndim != self.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as "
                           f"{'input' if name == 'gather' else 'self'} tensor")
    others = [d for d in range(index.ndim) if d != dim and index.shape[d] > self.shape[d]]
    if src is not None and index.ndim > src.ndim and not others and given.ndim and all(
            [i <= s for i, s in zip(index.shape, src.shape, strict=False)]):
        wrap_dim(src.ndim, src.ndim)          # sizes are compared by dimension, and `src` lacks one
    if src is not None and index.ndim != src.ndim:
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    if name == "gather":
        if others:
            raise RuntimeError(f"Size does not match at dimension {others[0]} expected index {list(index.shape)} to be "
                               f"no larger than self {list(self.shape)} apart from dimension {dim}")
    elif others or (src is not None and any([i > s for i, s in zip(index.shape, src.shape, strict=True)])):
        tail = "" if src is None else f" and to be no larger size than src {list(given.shape)}"
        raise RuntimeError(f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart "
                           f"from dimension {dim}{tail}")
    check_within(index, dim, self.shape[dim])


# ---- batching
def batch_all(args: Any, dims: Any, size: int) -> list[Any]:
    """All tensors with the batch dimension in front, those without one expanded."""
    return [(a.expand((size, *a.shape)) if d is None else families.move_to_front(a, d)) if isinstance(a, Tensor) else a
            for a, d in zip(args, dims, strict=True)]


def along_dim(op: Any, args: Any, dims: Any, size: int) -> Any:
    """For ops whose index tensor has all the dimensions: every operand gets the batch dimension, `dim` moves up."""
    moved = batch_all(args, dims, size)
    scalar = moved[0].ndim == 1
    result_scalar = all([a.ndim == 1 for a in moved if isinstance(a, Tensor)])
    place = [p.name for p in op.schema.params].index("dim")
    moved[place] = wrap_dim(args[place], moved[0].ndim - 1) + 1
    if scalar:
        moved = [a.unsqueeze(-1) if isinstance(a, Tensor) and a.ndim == 1 else a for a in moved]
    result = call(op, moved)
    return result.squeeze(-1) if scalar and (result_scalar or op.name != "gather") else result, 0


def along_vector(op: Any, args: Any, dims: Any, size: int) -> Any:
    """For ops whose index is a vector; a batched index goes one example at a time."""
    names = [p.name for p in op.schema.params]
    place = names.index("index")
    ranks = {a.ndim - (d is not None) for a, d, n in zip(args, dims, names, strict=True) if n in ("self", "source")}
    rank = min(ranks)
    if dims[place] is not None or rank == 0 or "value" in names and dims[names.index("value")] is not None:
        return families.loop(op, args, dims, size)
    moved = batch_all(args, dims, size)
    moved[place] = args[place]
    if "value" in names:
        moved[names.index("value")] = args[names.index("value")]
    moved[names.index("dim")] = wrap_dim(args[names.index("dim")], rank) + 1
    return call(op, moved), 0


# ---- gather
def gather_kernel(xp: Any, self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    dim = wrap_dim(dim, self.ndim)
    if index.ndim == self.ndim and index.size and index.dtype in INDEX_DTYPES:
        made = take_elements(self, index, dim)
        if made is not None:
            return made
    check_scatter("gather", self, dim, index, None)
    if not index.size:
        return xp.empty(index.shape, self.dtype)
    source, places = at_least_1d(self), at_least_1d(index)
    if index.size <= lean.FEW and type(self) in lean.ARRAYS and self.flags.c_contiguous:
        return source.reshape(-1).take(lean.places_along(source, places, dim)).reshape(index.shape)
    return source[grid(places, dim)].reshape(index.shape)


def gather_backward(grad: Any, self: Any, dim: int, index: Any, sparse_grad: bool) -> Any:
    if sparse_grad:
        return hooks.gather_gradient(self, dim, index, grad)
    return fill_zeros(grad, self.shape, 0, "scatter_add", dim, index, grad)


gather = defop(
    "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    kernel=gather_kernel,
    vjp=dict(self=gather_backward), jvp="linear", batch=along_dim, pattern="moves", lower="@native.gather",
    traits=("guarded", "out_apart", "out_first", "out_after_dim"), masked="passthrough",
    doc="""The elements at the given indices along `dim`.
    >>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))
    tensor([[2],
            [3]])
    """,
)


# ---- scatter
def scatter_into(name: str, self: Any, dim: int, index: Any, src: Any, reduce: str | None = None,
                 include_self: bool = True) -> Any:
    """A copy of `self` into which `src` (None if it has no shape of its own) was written or reduced."""
    dim = wrap_dim(dim, self.ndim)
    value = src if src.ndim == 0 and name == "scatter value" else None
    source = src if value is not None else src[tuple([slice(n) for n in index.shape])] if src.ndim == index.ndim else None
    if index.size and index.dtype in INDEX_DTYPES and source is not None and src.dtype == self.dtype and (
            value is not None or source.shape == index.shape):
        result = copying.copy_of(self)
        if reduced_elements(result, index, source, dim, reduce, include_self):
            return result
    check_scatter(name.split()[0], self, dim, index, None if value is not None else src)
    result = copying.copy_of(self)
    if not index.size:
        return result
    flat, index = at_least_1d(result), at_least_1d(index)
    source = value if value is not None else at_least_1d(src)[tuple([slice(n) for n in index.shape])]
    if index.size <= lean.FEW and type(result) in lean.ARRAYS and result.flags.c_contiguous:
        index = lean.places_along(flat, index, dim).reshape(-1)
        flat, places = result.reshape(-1), (index,)
        source = source if value is not None else source.reshape(-1)
    else:
        places = grid(index, dim)
    if reduce is None:
        flat[places] = source
    else:
        reduce_at(flat, places, lean.broadcast_to(source, index.shape), reduce, include_self)
    return result


def reduced_elements(target: Any, index: Any, source: Any, dim: int, reduce: str | None, include_self: bool) -> bool:
    """`scatter_into` for an index per element, in C; False, with the target's content undefined, if unsupported."""
    if reduce is None:
        return put_elements(target, index, source, dim, "=")
    if not include_self and not put_elements(target, index, neutral(reduce, target.dtype), dim, "="):
        return False
    if not put_elements(target, index, source, dim, HOW[reduce]):
        return False
    if reduce == "mean":
        counts = lean.full(target.shape, int(include_self), INT64)
        if not put_elements(counts, index, lean.ones((), INT64), dim, "+"):
            return False
        divide_by(target, counts)
    return True


def divide_by(target: Any, counts: Any) -> None:
    np.maximum(counts, 1, out=counts)
    divided = target // counts if target.dtype.kind in "iu" else target / counts
    target[...] = divided.astype(target.dtype)


def reduce_at(target: Any, places: Any, source: Any, reduce: str, include_self: bool) -> None:
    """Reduce `source` into `target` at `places`; without `include_self` the old values there are ignored."""
    if not include_self:
        target[places] = neutral(reduce, target.dtype)
    name = REDUCTIONS[reduce]
    dims = [d for d, p in enumerate(places) if isinstance(p, np.ndarray)]
    if len(dims) == 1 and places[dims[0]].ndim == 1 and put_rows(target, places[dims[0]], source, dims[0], HOW[reduce]):
        if reduce == "mean":
            counts = lean.full(target.shape, int(include_self), INT64)
            put_rows(counts, places[dims[0]], lean.ones(source.shape, INT64), dims[0], "+")
            divide_by(target, counts)
        return
    if name == "add":
        add_at(target, places, source)
    else:
        getattr(lean.namespace_of(target), name).at(target, places, source)
    if reduce == "mean":
        counts = lean.ones(target.shape, INT64) if include_self else np.zeros(target.shape, INT64)
        add_at(counts, places, lean.ones(source.shape, INT64))
        divide_by(target, counts)


def neutral(reduce: str, dtype: Any) -> Any:
    """The neutral element of a reduction."""
    if reduce in ("sum", "mean"):
        return np.zeros((), dtype)
    if reduce == "prod":
        return lean.ones((), dtype)
    if dtype.kind == "b":
        return np.asarray(reduce == "amin")
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.asarray(limits.min if reduce == "amax" else limits.max, dtype)
    return np.asarray(-np.inf if reduce == "amax" else np.inf).astype(dtype)


def scatter_value_kernel(xp: Any, self: Any, dim: int, index: Any, value: Any, reduce: str | None = None) -> Any:
    if isinstance(value, complex) and self.dtype.kind != "c" or not value * 0 == 0 and self.dtype.kind in "iu":
        scatter_into("scatter value", self, dim, index, number_array(0, self.dtype))      # other errors come first
    return scatter_into("scatter value", self, dim, index, number_array(value, self.dtype), reduce)


def old_reduction(reduce: str, checked: Any = None) -> str:
    """The present name of a reduction; `checked` raises the errors in the other arguments, which come first."""
    if reduce not in ("add", "multiply"):
        if checked is not None:
            checked()
        raise RuntimeError("reduce argument must be either add or multiply.")
    return "sum" if reduce == "add" else "prod"


def scatter_reduce_src_kernel(xp: Any, self: Any, dim: int, index: Any, src: Any, reduce: str) -> Any:
    warn_once("The reduce argument of torch.scatter with Tensor src is deprecated and will be removed in a future "
              "PyTorch release. Use torch.scatter_reduce instead for more reduction options.")
    return scatter_into("scatter", self, dim, index, src, old_reduction(
        reduce, lambda: scatter_into("scatter", self, dim, index, src)))


scatter_src = defop(
    "scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    out="same",
    kernel=lambda xp, self, dim, index, src: scatter_into("scatter", self, dim, index, src),
    vjp=dict(self=lambda grad, dim, index: grad.scatter(dim, index, 0),
             src=lambda grad, dim, index: grad.gather(dim, index)),
    jvp="linear", batch=along_dim, inplace=True, traits=("apart",), pattern="moves", lower="@native.scatter",
    doc="""A tensor with elements of another put at the given indices along `dim`.
    >>> torch.scatter(torch.zeros(3), 0, torch.tensor([2]), torch.tensor([5.0]))
    tensor([0., 0., 5.])
    """,
)
def scatter_reduced_backward(grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, result: Any) -> Any:
    return reduction_backward(Along(dim, index, False), grad, self, src, old_reduction(reduce), True, result)


def scatter_reduced_tangent(self_p: Any, self_t: Any, dim: int, index: Any, src_p: Any, src_t: Any, reduce: str,
                            result: Any) -> Any:
    return reduction_tangent(Along(dim, index, False), self_p, self_t, src_p, src_t, old_reduction(reduce), True, result)


def scaled_by_value(t: Any, dim: int, index: Any, value: Any, reduce: str) -> Any:
    """The tangent or gradient of `self`: unchanged for sums, multiplied once per index for products."""
    return t if reduce == "add" else scatter_reduced_value(t, dim, index, value, reduce="multiply")


scatter_reduced_src = defop(
    "scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
    out="same",
    kernel=scatter_reduce_src_kernel,
    vjp={("self", "src"): scatter_reduced_backward}, jvp=scatter_reduced_tangent, batch=along_dim, inplace=True,
    node="ScatterBackward2", traits=("apart", "out_untracked"),
)
scatter_value = defop(
    "scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
    out="same",
    kernel=scatter_value_kernel,
    vjp=dict(self=lambda grad, dim, index: grad.scatter(dim, index, 0)),
    jvp=lambda self_t, dim, index: self_t.scatter(dim, index, 0),
    batch=along_dim, inplace=True, node="ScatterBackward1", traits=("apart",), pattern="moves", lower="@native.scatter_value",
)
scatter_reduced_value = defop(
    "scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
    out="same",
    kernel=lambda xp, self, dim, index, value, reduce:
        scatter_value_kernel(xp, self, dim, index, value, old_reduction(
            reduce, lambda: scatter_value_kernel(xp, self, dim, index, value))),
    vjp=dict(self=lambda grad, dim, index, value, reduce: scaled_by_value(grad, dim, index, conj(value), reduce)),
    jvp=lambda self_t, dim, index, value, reduce: scaled_by_value(self_t, dim, index, value, reduce),
    batch=along_dim, inplace=True, node="ScatterBackward3", traits=("apart", "out_untracked"), pattern="first",
)
scatter_add = defop(
    "scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    kernel=lambda xp, self, dim, index, src: scatter_into("scatter", self, dim, index, src, "sum"),
    vjp=dict(self=lambda grad: grad, src=lambda grad, dim, index: grad.gather(dim, index)),
    jvp="linear", batch=along_dim, inplace=True, traits=("apart",), pattern=("scatter", 3, "gather", (1, 2)),
    lower="@native.scatter_add",
    doc="""A tensor with elements of another added at the given indices along `dim`.
    >>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 2]), torch.tensor([5.0, 1.0]))
    tensor([0., 0., 6.])
    """,
)


# ---- scatter_reduce
class Error(Node):
    """A node without a derivative in PyTorch: backward through it raises."""

    __slots__ = ("message",)
    message: str

    def _run_(self, grads: Any, needed: Any) -> Any:
        raise RuntimeError(self.message)


def refused(t: Any, message: str) -> Any:
    """The same values as `t`, with a node that raises in backward."""
    if not wants_grad(t):
        return t
    node = Error()
    node.message = message
    connect(node, [t])
    out = new_tensor(t.array)
    describe_outputs(node, (out,))
    set_history(out, node, 0)
    return out


def scatter_reduce_kernel(xp: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if reduce in ("amax", "amin") and self.dtype.kind == "c" or reduce == "mean" and self.dtype.kind == "b":
        scatter_into("scatter", self, dim, index, src, "sum", include_self)      # other errors come first
        raise unsupported(f"scatter_gather_tensor_cpu_reduce_{reduce}", self.dtype)
    return scatter_into("scatter", self, dim, index, src, reduce, include_self)


class Along:
    """The read, add and reduce operations of a reduction along a dimension: by an index per element, or by a vector of
    rows."""

    def __init__(self, dim: int, index: Any, by_rows: bool) -> None:
        self.dim, self.index, self.by_rows = dim, index, by_rows

    def read(self, t: Any) -> Any:
        return t.index_select(self.dim, self.index) if self.by_rows else t.gather(self.dim, self.index)

    def add(self, t: Any, source: Any) -> Any:
        if self.by_rows:
            return t.index_add(self.dim, self.index, source)
        return t.scatter_add(self.dim, self.index, source)

    def reduce(self, t: Any, source: Any, reduce: str, include_self: bool) -> Any:
        method = t.index_reduce if self.by_rows else t.scatter_reduce
        return method(self.dim, self.index, source, reduce, include_self=include_self)

    def clear(self, t: Any) -> Any:
        return t.index_fill(self.dim, self.index, 0) if self.by_rows else t.scatter(self.dim, self.index, 0)


def reduction_backward(along: Along, grad: Any, self: Any, src: Any, reduce: str, include_self: bool,
                       result: Any) -> Any:
    """The gradients of `self` and `src` for a reduction along a dimension."""
    if reduce == "sum":
        grad_self, grad_src = grad, along.read(grad)
    elif reduce == "prod":
        grad_self, grad_src = product_backward(along, grad, self, src, include_self, result)
    elif reduce == "mean":
        counts = getattr(late, "ones_like" if include_self else "zeros_like")(grad)
        counts = along.add(counts, late.ones_like(src))
        counts = counts.masked_fill(counts == 0, 1)
        grad_self = grad / counts
        grad_src = along.read(grad) / along.read(counts)
    else:
        # equal extremes share the gradient evenly, both of `self` and of `src`
        self_is_result = (self == result).to(self.dtype)
        src_is_result = (src == along.read(result)).to(src.dtype)
        shared = grad / along.add(self_is_result, src_is_result)
        grad_self = self_is_result * shared
        grad_src = src_is_result * along.read(shared)
    return (grad_self if include_self else along.clear(grad_self)), grad_src


def product_backward(along: Along, grad: Any, self: Any, src: Any, include_self: bool, result: Any) -> Any:
    """For a product: division by a factor where it is not 0, the product of the others where it is the only 0."""
    masked_self = self.masked_fill(self == 0, 1)
    grad_self = grad * along.reduce(masked_self, src, "prod", include_self) / masked_self
    zero = src == 0
    zeros = along.read(along.add(late.zeros_like(self), zero.to(self.dtype)))
    single = zero & (zeros == 1)
    others = along.reduce(self, src.masked_fill(single, 1), "prod", include_self)
    grad_src = late.where(single, along.read(grad * others), along.read(grad * result) / src.masked_fill(zero, 1))
    if tls.grad_enabled and anywhere(zeros > 1):
        op, name = ("index_reduce", "source") if along.by_rows else ("scatter_reduce", "src")
        message = (f"{op}(): Double backward is unsupported for {name} when >1 zeros in {name} are scattered to the same "
                   "position in self")
        grad_src = refused(grad_src, message)
    return grad_self, grad_src


def scatter_reduce_backward(grad: Any, self: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool,
                            result: Any) -> Any:
    return reduction_backward(Along(dim, index, False), grad, self, src, reduce, include_self, result)


def reduction_tangent(along: Along, self: Any, self_t: Any, src: Any, src_t: Any, reduce: str, include_self: bool,
                      result: Any) -> Any:
    """The tangent of a reduction along a dimension."""
    if reduce in ("sum", "mean"):
        return along.reduce(self_t, src_t, reduce, include_self)
    if reduce in ("amax", "amin"):
        self_is_result = (self == result).to(self.dtype)
        self_is_result = self_is_result if include_self else along.clear(self_is_result)
        src_is_result = (src == along.read(result)).to(src.dtype)
        counts = along.add(self_is_result, src_is_result)
        return along.add(self_is_result * self_t, src_is_result * src_t) / counts.masked_fill(counts == 0, 1)
    # the tangent of a product is the derivative of the backward formula
    ones = late.ones_like(result)
    grad_self, grad_src = product_backward(along, ones, self, src, include_self, result)
    grad_self = grad_self if include_self else along.clear(grad_self)
    return along.add(grad_self * self_t, grad_src * src_t)


def scatter_reduce_tangent(self_p: Any, self_t: Any, dim: int, index: Any, src_p: Any, src_t: Any, reduce: str,
                           include_self: bool, result: Any) -> Any:
    return reduction_tangent(Along(dim, index, False), self_p, self_t, src_p, src_t, reduce, include_self, result)


scatter_reduce = defop(
    "scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> "
    "Tensor",
    kernel=scatter_reduce_kernel,
    vjp={("self", "src"): scatter_reduce_backward}, jvp=scatter_reduce_tangent, batch=along_dim, inplace=True,
    real_only=True, traits=("apart",), lower="@native.scatter_reduce",
)
