"""Ops on jagged tensors in terms of ops on what their parts are slices of, so that every derivative comes with them."""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import find_packet
from retrograd.nested.formulas import (
    TWINS,
    from_jagged,
    from_padded,
    get_values,
    jagged_form,
    jagged_kernel,
    to_padded,
    with_values,
)
from retrograd.nested.kernels import check_contiguous, shown_shape
from retrograd.nested.parts import is_jagged
from retrograd.nested.symbols import SymInt
from retrograd.ops import late


def values_of(t: Any) -> Any:
    """What the parts of a jagged tensor are slices of, with its history."""
    return call(get_values, [t])


def ragged_as(values: Any, t: Any, axis: int | None = None) -> Any:
    """A jagged tensor of slices of `values`, along `axis` or where `t` has its ragged dimension."""
    return call(with_values, [values, t, axis_of(t) if axis is None else axis])


def axis_of(t: Any) -> int:
    return t._extra.sparse.axis


def wrapped(t: Any, dim: int, extra: int = 0) -> int:
    """A dimension counted from the front."""
    rank = t.array.ndim + extra
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    return dim % rank


def inner_dim(name: str, t: Any, dim: int, extra: int = 0) -> int:
    """A dimension of a jagged tensor as one of its parts, which may be neither the first nor the ragged one."""
    d = wrapped(t, dim, extra)
    if d == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    if d == axis_of(t) + 1:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
    return d - 1


def plain(name: str) -> Any:
    """An op by name, for dense operands."""
    packet: Any = find_packet(name)
    return packet.default


def size_text(t: Any) -> str:
    return f"torch.Size({list(shown_shape(t))})"


# ---- pieces
@jagged_form("chunk")
def chunk(self: Any, chunks: int, dim: int) -> Any:
    check_contiguous(self, "chunk_default", "self: jt, chunks: any, dim: any?")
    if wrapped(self, dim) == 0:
        return chunk_parts(self, chunks)
    d = inner_dim("chunk", self, dim)
    return tuple([ragged_as(piece, self) for piece in values_of(self).chunk(chunks, d)])


def chunk_parts(self: Any, chunks: int) -> tuple[Any, ...]:
    """Jagged tensors of some of the parts each."""
    data = self._extra.sparse
    values, at, made = values_of(self), 0, []
    for lengths in new_lengths(data.ragged).chunk(chunks):
        total = int(lengths.array.sum())
        offsets = late.cat([lengths.new_zeros(1), lengths.cumsum(0)])
        made.append(call(from_jagged, [values.narrow(data.axis, at, total), offsets, None, data.axis, None, None]))
        at += total
    return tuple(made)


def new_lengths(ragged: Any) -> Any:
    """How long the parts are, as a tensor."""
    return ragged.offsets.diff() if ragged.lengths is None else ragged.lengths


@jagged_form("split.Tensor", "split_with_sizes", "split.sizes")
def split(self: Any, sizes: Any, dim: int) -> Any:
    if isinstance(sizes, int):
        check_contiguous(self, "split_tensor", "self: jt, split_size: any, dim: any?")
    else:
        check_contiguous(self, "split_with_sizes_default", "self: jt, split_sizes: any, dim: any?")
    d = inner_dim("split" if isinstance(sizes, int) else "split_with_sizes", self, dim)
    return tuple([ragged_as(piece, self) for piece in values_of(self).split(sizes, d)])


@jagged_form("slice.Tensor")
def take_slice(self: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    check_contiguous(self, "slice_tensor", "self: jt, dim: any?, start: any?, end: any?, step: any?")
    d = inner_dim("slice", self, dim)
    return ragged_as(values_of(self)[(*(slice(None),) * d, slice(start, end, step))], self)


@jagged_form("narrow")
def narrow(self: Any, dim: int, start: Any, length: int) -> Any:
    check_contiguous(self, "narrow", "self: jt, dim: any, start: any, length: any")
    d = inner_dim("narrow", self, dim)
    return ragged_as(values_of(self).narrow(d, start, length), self)


@jagged_kernel("cat")
def cat(tensors: Any, dim: int) -> Any:
    first = next(t for t in tensors if is_jagged(t))
    d = inner_dim("cat", first, dim)
    values = [values_of(t) if is_jagged(t) else t.expand(values_of(first).shape) for t in tensors]
    return ragged_as(late.cat(values, d), first)


@jagged_form("stack")
def stack(tensors: Any, dim: int) -> Any:
    first = tensors[0]
    if any([t.array.ndim != first.array.ndim for t in tensors]):
        raise RuntimeError("stack(): expected all nested tensors to have the same dim")
    d = inner_dim("stack", first, dim, 1)
    return ragged_as(late.stack([values_of(t) for t in tensors], d), first, axis_of(first) + (d <= axis_of(first)))


# ---- shapes
@jagged_form("flatten.using_ints")
def flatten(self: Any, start_dim: int, end_dim: int) -> Any:
    start, end = wrapped(self, start_dim), wrapped(self, end_dim)
    ragged = axis_of(self) + 1
    if start == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    if start <= ragged <= end and start != end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    axis = axis_of(self) - (end - start if end < ragged else 0)
    return ragged_as(values_of(self).flatten(start - 1, end - 1), self, axis)


@jagged_form("unflatten.int")
def unflatten(self: Any, dim: int, sizes: Any) -> Any:
    d, ragged = wrapped(self, dim), axis_of(self) + 1
    shape = shown_shape(self)
    if d == ragged:
        raise RuntimeError(f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in "
                           "the input tensor")
    if d == 0:
        raise cannot_view(self, [*sizes, *shape[1:]])
    axis = axis_of(self) + (len(sizes) - 1 if d < ragged else 0)
    return ragged_as(values_of(self).unflatten(d - 1, sizes), self, axis)


def cannot_view(t: Any, size: Any) -> RuntimeError:
    return RuntimeError(f"view(): cannot view shape {shown_shape(t)} as {list(size)}")


@jagged_kernel("view", "reshape")
def view(self: Any, size: Any) -> Any:
    """The dimensions after the ragged one in another shape."""
    before, kept = shown_shape(self), axis_of(self) + 2
    lead = [have if n == -1 and isinstance(have, SymInt) else n for n, have in zip(size, before, strict=False)][:kept]
    if len(size) < kept or lead != list(before[:kept]):
        raise cannot_view(self, size)
    values = values_of(self)
    return ragged_as(values.reshape(*values.shape[:kept - 1], *size[kept:]), self)


def with_places_written(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    """The values after a write to places that are given by the number of a part and a position within it."""
    data = self._extra.sparse
    if len(indices) < data.axis + 2:
        if not data.is_contiguous:
            raise RuntimeError("index_put(): If ragged dimension is not part of indices, this only works on contiguous NJTs")
        padded = call(to_padded, [self, 0.0, None])
        return values_of(call(from_padded, [padded.index_put(indices, values, accumulate), self]))
    if data.axis or any([i is None for i in indices[:2]]):
        raise RuntimeError("index_put(): indices must be given for the batch and for the ragged dimension after it")
    rows = data.ragged.offsets[indices[0]] + indices[1]
    return values_of(self).index_put((rows, *indices[2:]), values, accumulate)


@jagged_form("index_put_")
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    values_of(self).copy_(with_places_written(self, indices, values, accumulate))
    return self


@jagged_form("index_put")
def index_put(self: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    return ragged_as(with_places_written(self, indices, values, accumulate), self)


@jagged_form("masked_select")
def masked_select(self: Any, mask: Any) -> Any:
    """The chosen elements of every part."""
    check_contiguous(self, "masked_select_default", "self: jt, mask: any")
    if self.array.ndim > 2:
        raise RuntimeError("masked_select only support 2-D selections currently")
    if not is_jagged(mask) or shown_shape(self) != shown_shape(mask):
        raise RuntimeError(f"Mask with shape {mask.shape} is not compatible with input's shape {self.shape}")
    chosen = values_of(mask)
    ends = late.cat([chosen.new_zeros(1, dtype=self._extra.sparse.ragged.offsets.dtype), chosen.cumsum(0)])
    offsets = ends[self._extra.sparse.ragged.offsets]
    return call(from_jagged, [values_of(self).masked_select(chosen), offsets, None, 0, None, None])


@jagged_form("view_as", "reshape_as", "expand_as")
def view_as(self: Any, other: Any) -> Any:
    if not is_jagged(self):
        return ragged_as(self.expand(values_of(other).shape), other)
    return ragged_as(values_of(self).expand(values_of(other).shape), other)


@jagged_form("expand")
def expand(self: Any, size: Any, implicit: bool) -> Any:
    before, ragged = shown_shape(self), axis_of(self) + 1
    if len(size) != len(before) or size[0] not in (-1, before[0]) or size[ragged] not in (-1, before[ragged]):
        raise RuntimeError(f"expand(): cannot expand shape {before} -> {list(size)}")
    inner = [-1 if d == axis_of(self) else n for d, n in enumerate(size[1:])]
    return ragged_as(values_of(self).expand(inner), self)


# ---- products
@jagged_kernel("linear")
def linear(input: Any, weight: Any, bias: Any) -> Any:
    check_contiguous(input, "linear_default", "input: jt, weight: t, bias: t?", "input")
    values = late.linear(values_of(input), weight, bias)
    return ragged_as(values, input)


@jagged_form("matmul", "bmm")
def matmul(self: Any, other: Any) -> Any:
    unsupported = RuntimeError(f"matmul(): not supported between inputs of shapes {shown_shape(self)} and "
                               f"{size_text(other)}")
    if not is_jagged(self):
        raise unsupported
    last = self.array.ndim - 2
    if not is_jagged(other):
        if axis_of(self) == last:
            raise unsupported
        if other.array.ndim == 2:
            return call(TWINS["matmul.default"], [self, other])
        if other.array.ndim != self.array.ndim:
            raise unsupported
        return call(from_padded, [call(to_padded, [self, 0.0, None]).matmul(other), self])
    same = self._extra.sparse.ragged.symbol == other._extra.sparse.ragged.symbol
    if not same or axis_of(self) != last or axis_of(other) != last - 1:
        raise unsupported
    return call(to_padded, [self, 0.0, None]).matmul(call(to_padded, [other, 0.0, None]))


@jagged_kernel("matmul")
def times_matrix(self: Any, other: Any) -> Any:
    return ragged_as(values_of(self).matmul(other), self)


@jagged_form("scaled_dot_product_attention")
def attend(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float, is_causal: bool, scale: Any,
           enable_gqa: bool) -> Any:
    """Attention of every part to itself."""
    if attn_mask is not None:
        raise ValueError("Masks are not yet supported!")
    if not all([is_jagged(t) for t in (query, key, value)]):
        raise ValueError("Expected query, key, and value to all be  nested jagged tensors.")
    dense = plain("scaled_dot_product_attention")
    made = [call(dense, [q, k, v, None, dropout_p, is_causal, scale, enable_gqa])
            for q, k, v in zip(query.unbind(), key.unbind(), value.unbind(), strict=True)]
    return ragged_as(late.cat(made, axis_of(query)), query)


# ---- along the last dimension, and lookups
@jagged_form("log_softmax.int")
def log_softmax(self: Any, dim: int, dtype: Any) -> Any:
    d = wrapped(self, dim)
    if d == 0:
        raise RuntimeError("log_softmax(): not supported when reducing across the batch dimension for NestedTensor")
    if d == axis_of(self) + 1:
        raise RuntimeError("log_softmax(): not supported when reducing along the ragged dimension for NestedTensor")
    return ragged_as(values_of(self).log_softmax(d - 1, dtype), self)


@jagged_form("layer_norm")
def layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float, cudnn_enable: bool) -> Any:
    if len(normalized_shape) >= input.array.ndim - 1 - axis_of(input):
        late.layer_norm(values_of(input), normalized_shape, weight, bias, eps)
        raise RuntimeError("layer_norm(): normalizing over ragged dim not supported for nested tensors")
    return ragged_as(late.layer_norm(values_of(input), normalized_shape, weight, bias, eps), input)


@jagged_form("embedding")
def embedding(weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool) -> Any:
    return ragged_as(late.embedding(weight, values_of(indices), padding_idx, scale_grad_by_freq, sparse), indices)


@jagged_form("one_hot")
def one_hot(self: Any, num_classes: int) -> Any:
    return ragged_as(call(plain("one_hot"), [values_of(self), num_classes]), self)


@jagged_form("new_zeros", "new_ones", "new_empty")
def new_like(self: Any, size: Any, *options: Any) -> Any:
    if len(size):
        raise RuntimeError("new_empty() not supported for NJT with shape != ()")
    return values_of(self).detach().new_zeros(())


def refuse(name: str) -> None:
    """Say that jagged tensors do not have an op which others have by way of ops that they do have."""
    def raise_missing(*args: Any) -> Any:
        raise NotImplementedError(f"aten.{name}")
    jagged_form(name)(raise_missing)


for _name in ("allclose.default", "equal.default", "floor_divide.default", "addcmul.default", "lerp.Tensor",
              "_prelu_kernel.default", "transpose_.default", "unsqueeze_.default", "squeeze_.dim", "t_.default",
              "resize_.default", "masked_fill_.Scalar", "masked_fill_.Tensor"):
    refuse(_name)


@jagged_form("copy_")
def copy_(self: Any, src: Any, non_blocking: bool) -> Any:
    if not is_jagged(src):
        raise ValueError("NestedTensor copy_default(self: jt_all, src: jt_all, non_blocking: any?): expected src to be a "
                         "jagged layout NestedTensor")
    if self._extra.sparse.ragged.counts() != src._extra.sparse.ragged.counts():
        raise RuntimeError("copy_(): expected compatible input and src shapes, but got: "
                           f"{size_text(self)} and {size_text(src)}")
    values_of(self).copy_(values_of(src))
    return self


@jagged_form("_to_dense", "to_dense")
def refuse_to_dense(self: Any, *rest: Any) -> Any:
    raise RuntimeError("to_dense does not support layout Jagged")


@jagged_form("coalesce")
def refuse_coalesce(self: Any) -> Any:
    raise RuntimeError("coalesce expected sparse coordinate tensor layout but got Jagged")
