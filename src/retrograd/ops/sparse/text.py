"""Printing and pickling of sparse tensors."""
from __future__ import annotations

from typing import Any

from retrograd.core import printing
from retrograd.core.hooks import hooks
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import cast_array
from retrograd.ops.sparse.coo import (
    Coo,
    data_of,
    indices_of,
    is_coo,
    is_sparse,
    layout_name,
    layout_of,
    replace,
    sparse_tensor,
    values_of,
)


def sparse_repr(t: Any) -> str:
    """The text of `repr(t)`."""
    if is_coo(t):
        parts = [("indices", indices_of(t)), ("values", values_of(t))]
    else:
        parts = hooks.compressed_parts(t)
    return printing.parts_str(t, parts, late._nnz(t), layout_of(t), is_coo(t))


def rebuild(data: Any, shape: Any, requires_grad: bool) -> Any:
    """Used by pickle."""
    made = sparse_tensor(data, shape)
    made._requires = requires_grad
    return made


def reduce(t: Any) -> Any:
    return (rebuild, (data_of(t), tuple(t.array.shape), t._requires and t._node is None))


def rebuild_coo(indices: Any, values: Any, coalesced: bool) -> Coo:
    return Coo(indices, values, coalesced)


def reduce_coo(self: Coo) -> tuple[Any, ...]:
    return rebuild_coo, (self.indices, self.values, self.coalesced)


Coo.__reduce__ = reduce_coo  # type: ignore[assignment, method-assign]


def assign(out: Any, value: Any) -> None:
    """Write a result to an out= tensor, where one of the two is sparse."""
    if is_sparse(out) and is_sparse(value):
        replace(out, value)
    elif is_sparse(out):
        raise RuntimeError(f"Expected out tensor to have strided layout, but got {layout_name(out)}")
    else:
        whole = late.to_dense(value)
        if out.array.shape != whole.array.shape:
            out.array = new_tensor(whole.array.astype(out.array.dtype)).array
        out.array[...] = cast_array(whole.array, out.array.dtype)


hooks.sparse_repr = sparse_repr
hooks.sparse_reduce = reduce
hooks.assign_sparse = assign
hooks.layout_name = layout_name
