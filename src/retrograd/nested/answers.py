"""What tensors answer when they are nested; put on Tensor when `retrograd.nested` is imported."""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from retrograd.core import printing
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.storage import address, offset_of, strides_of
from retrograd.core.tensor import Size, Tensor, install, new_tensor, wants_grad
from retrograd.methods.geometry import checked_dim
from retrograd.nested.formulas import get_values, to_padded
from retrograd.nested.parts import Ragged, arrays_of, is_jagged, is_nested, pack, sizes_of, wrap_jagged
from retrograd.ops import late

NO_SIZES = "Internal error: NestedTensorImpl doesn't support sizes. Please file an issue."
NO_STRIDES = "Internal error: NestedTensorImpl doesn't support strides. Please file an issue."


def size(self: Any, dim: Any = None) -> Any:
    """The shape, or the length of one dimension; of the strided layout, of one that all parts have alike."""
    if is_jagged(self):
        return Size(self.array.symbolic) if dim is None else self.array.symbolic[checked_dim(dim, self.array.ndim)]
    if dim is None:
        raise RuntimeError(f"{NO_SIZES} nested.size(dim) gives the length of a dimension that all parts share; "
                           "nested.unbind() gives the parts.")
    d = checked_dim(dim, self.array.ndim) % self.array.ndim
    if d and len({array.shape[d - 1] for array in arrays_of(self)}) > 1:
        raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
    return self.array.shape[d]


def refuse_numpy(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(".numpy() is not supported for tensor subclasses." if is_jagged(self) else NO_SIZES)


def refuse_list(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(".tolist() is not supported for tensor subclasses, got NestedTensor" if is_jagged(self) else NO_STRIDES)


def stride(self: Any, dim: Any = None) -> Any:
    """The strides of a jagged tensor, as if its parts were alike."""
    if not is_jagged(self):
        raise RuntimeError(NO_STRIDES)
    data = self._extra.sparse
    inner = strides_of(data.whole)
    width = int(np.prod([n for d, n in enumerate(self.array.shape[1:]) if d != data.axis], dtype=np.int64))
    made = (width * data.ragged.symbol, *inner)
    return made if dim is None else made[checked_dim(dim, self.array.ndim)]


def storage(self: Any) -> Any:
    return new_tensor(self._extra.sparse.memory).untyped_storage()


ANSWERS: dict[str, Any] = dict(
    is_same_size=lambda a, b: [p.shape for p in arrays_of(a)] == [p.shape for p in arrays_of(b)],
    size=size, stride=stride, numpy=refuse_numpy, tolist=refuse_list, untyped_storage=storage,
    is_contiguous=lambda self: self._extra.sparse.is_contiguous,
    data_ptr=lambda self: 0 if is_jagged(self) else address(self._extra.sparse.memory),
)


def describe(t: Any) -> str:
    """How a nested tensor prints."""
    if is_jagged(t):
        data = t._extra.sparse
        size = ", ".join([str(n) for n in t.array.symbolic])
        history = f"grad_fn={t.grad_fn}, " if t.grad_fn is not None else "requires_grad=True, " if wants_grad(t) else ""
        return f"NestedTensor(size=({size}), offsets={data.ragged.offsets}, {history}contiguous={data.is_contiguous})"
    lines = []
    for array in arrays_of(t):
        part = new_tensor(array)
        part._requires = wants_grad(t)
        lines.append("  " + printing.tensor_str(part).replace("\n", "\n  "))
    suffix = ""
    if t.grad_fn is not None:
        suffix = f", grad_fn=<{t.grad_fn.name().rpartition(':')[2]}>"
    elif wants_grad(t):
        suffix = ", requires_grad=True"
    return "nested_tensor([\n" + ",\n".join(lines) + f"\n]{suffix})"


def reduce(t: Any) -> Any:
    """What pickle keeps of a nested tensor."""
    data = t._extra.sparse
    requires = wants_grad(t) and t._node is None
    if data.ragged is None:
        return rebuild, ([np.ascontiguousarray(a) for a in data.arrays], t.array.dtype, data.rank, requires)
    return rebuild_jagged, (np.ascontiguousarray(data.whole), data.ragged.offsets, data.ragged.lengths, data.axis, requires)


def rebuild(arrays: Any, dtype: Any, rank: int, requires: bool) -> Any:
    made = pack(arrays, dtype, rank)
    made._requires = requires
    return made


def rebuild_jagged(whole: Any, offsets: Any, lengths: Any, axis: int, requires: bool) -> Any:
    made = wrap_jagged(whole, Ragged(offsets, lengths), axis)
    made._requires = requires
    return made


def accumulate(old: Any, grad: Any, create_graph: bool, alone: bool) -> Any:
    """The new `.grad` of a nested leaf."""
    if not is_nested(grad):
        return accumulate_sparse(old, grad, create_graph, alone)
    if old is None:
        return late.clone(grad) if create_graph or not alone else grad.detach()
    return old + grad if create_graph else late.add_(old, grad)


def shape_of(self: Any) -> Any:
    if is_jagged(self):
        return Size(self.array.symbolic)
    raise RuntimeError(NO_SIZES)


def pad(self: Any, padding: float, output_size: Any = None) -> Any:
    """The parts of a nested tensor side by side, filled up with `padding`."""
    return call(to_padded, [self, float(padding), None if output_size is None else tuple(output_size)])


class OfJagged:
    """An attribute that tensors of the jagged layout have, and no others: `hasattr` says so."""

    of_one_layout = True

    def __init__(self, name: str, read: Any, method: bool = False) -> None:
        self.name, self.read, self.method = name, read, method

    def __get__(self, t: Any, owner: Any = None) -> Any:
        if t is None:
            return self
        if not is_jagged(t):
            raise AttributeError(f"'{type(t).__name__}' object has no attribute '{self.name}'")
        return partial(self.read, t) if self.method else self.read(t)


def ragged_of(self: Any) -> Any:
    return self._extra.sparse.ragged


def known_length(n: int | None) -> Any:
    """A length that is known, as the first size of an empty tensor, which keeps it through what only keeps tensors."""
    return None if n is None else new_tensor(np.zeros((n, 0), np.float32))


def known_lengths(self: Any) -> dict[str, Any]:
    """The least and the greatest length of the parts of a jagged tensor, where given or already computed."""
    found = zip(("min_seqlen", "max_seqlen"), ragged_of(self).range, strict=True)
    return {name: known_length(n) for name, n in found if n is not None}


class ValuesOf:
    """`_values`: of a jagged tensor its memory, of a sparse one the method."""

    of_one_layout = True

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, t: Any, owner: Any = None) -> Any:
        if t is None:
            return self.method
        return call(get_values, [t]).detach() if is_jagged(t) else self.method.__get__(t, owner)


def offsets(self: Any) -> Any:
    """Where the parts of a jagged tensor begin and end."""
    return ragged_of(self).offsets


def sparse_or(before: Any, on_nested: Any) -> Any:
    return lambda t, *args: on_nested(t, *args) if is_nested(t) else before(t, *args)


accumulate_sparse = hooks.accumulate_sparse
hooks.sparse_repr = sparse_or(hooks.sparse_repr, describe)
hooks.sparse_reduce = sparse_or(hooks.sparse_reduce, reduce)
hooks.accumulate_sparse = accumulate
hooks.nested_answers = ANSWERS
hooks.nested_shape = shape_of
hooks.to_padded = pad
install(Tensor, {
    **{name: OfJagged(name, read, method=not name.startswith("_") or name.startswith("_get")) for name, read in {
        "offsets": offsets,
        "lengths": lambda self: ragged_of(self).lengths,
        "_offsets": offsets,
        "_lengths": lambda self: ragged_of(self).lengths,
        "_ragged_idx": lambda self: self._extra.sparse.axis + 1,
        "_min_seqlen": lambda self: ragged_of(self).least,
        "_max_seqlen": lambda self: ragged_of(self).most,
        "_maybe_min_seqlen": lambda self: ragged_of(self).range[0],
        "_maybe_max_seqlen": lambda self: ragged_of(self).range[1],
        "_min_seqlen_tensor": lambda self: known_length(ragged_of(self).range[0]),
        "_max_seqlen_tensor": lambda self: known_length(ragged_of(self).range[1]),
        "_metadata_cache": known_lengths,
        "_get_min_seqlen": lambda self: ragged_of(self).least,
        "_get_max_seqlen": lambda self: ragged_of(self).most,
        "_size": lambda self: tuple(self.array.symbolic),
        "_strides": stride,
    }.items()},
    "_values": ValuesOf(Tensor._values),
    "_nested_tensor_size": lambda self: new_tensor(sizes_of(self)),
    "_nested_tensor_strides": lambda self: new_tensor(np.array([strides_of(a) for a in arrays_of(self)], np.int64).reshape(
        len(arrays_of(self)), -1)),
    "_nested_tensor_storage_offsets": lambda self: new_tensor(np.array([offset_of(a) for a in arrays_of(self)], np.int64)),
})
