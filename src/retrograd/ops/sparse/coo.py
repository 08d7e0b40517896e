"""Sparse COO tensors: indices and values, with an array that only gives the shape.

NOTE [Sparse tensors]
A tensor that is not strided carries FLAG_SPARSE, so the fast path never handles it. Its `array` is a placeholder of the
full shape over one element: it gives shape and dtype and must never be read. The data is in
`_extra.sparse`: a `Coo` here, a `Compressed` in compressed.py. Both are copied with every alias of the tensor, so that
replacing the indices of one does not change the other, while their arrays stay shared, as in PyTorch.

The indices of a Coo are an int64 matrix with a column for every entry; the values have one entry per column and, behind
that, the dense dimensions. `coalesced` means that the columns are sorted and unique.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import kernels, lean
from retrograd.core.state import switches, tls
from retrograd.core.tensor import FLAG_INFERENCE, FLAG_SPARSE, Size, Tensor, extra_of, new_tensor
from retrograd.ops.memory.copy import sparse_coo, strided

NAMES = {"strided": "Strided", "jagged": "Jagged", "sparse_coo": "Sparse", "sparse_csr": "SparseCsr",
         "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr", "sparse_bsc": "SparseBsc"}


class Coo:
    """The data of a sparse COO tensor."""

    __slots__ = ("coalesced", "indices", "values")

    layout = sparse_coo

    def __init__(self, indices: Any, values: Any, coalesced: bool) -> None:
        self.indices = indices
        self.values = values
        self.coalesced = coalesced

    def copy(self) -> Coo:
        return Coo(self.indices, self.values, self.coalesced)


def stand_in(shape: Any, dtype: Any) -> Any:
    """An array of the given shape over a single element."""
    return np.ndarray(tuple(shape), dtype, np.zeros(1, dtype), 0, (0,) * len(shape))


def sparse_tensor(data: Any, shape: Any) -> Any:
    """A tensor on `data`."""
    t = new_tensor(stand_in(shape, data.values.array.dtype))
    t._flags = FLAG_SPARSE
    if switches.any_mode and tls.inference:
        t._flags |= FLAG_INFERENCE
    extra_of(t).sparse = data
    return t


def new_coo(indices: Any, values: Any, shape: Any, coalesced: bool = False) -> Any:
    """A COO tensor on the arrays `indices` and `values`; fewer than two entries are always coalesced."""
    data = Coo(new_tensor(np.asarray(indices)), new_tensor(np.asarray(values)), coalesced or values.shape[0] < 2)
    return sparse_tensor(data, shape)


def empty_coo(shape: Any, dtype: Any, sparse_dim: int | None = None) -> Any:
    """A COO tensor without entries."""
    count = len(shape) if sparse_dim is None else sparse_dim
    return new_coo(np.zeros((count, 0), np.int64), np.zeros((0, *shape[count:]), dtype), shape, True)


# ---- queries
def is_sparse(t: Any) -> bool:
    """Whether `t` is a tensor of any layout but the strided one."""
    return isinstance(t, Tensor) and bool(t._flags & FLAG_SPARSE)


def is_coo(t: Any) -> bool:
    return isinstance(t, Tensor) and bool(t._flags & FLAG_SPARSE) and type(t._extra.sparse) is Coo


def data_of(t: Any) -> Any:
    return t._extra.sparse


def layout_of(t: Any) -> Any:
    return t._extra.sparse.layout if t._flags & FLAG_SPARSE else strided


def layout_name(t: Any) -> str:
    """The layout of a tensor (or a layout) as PyTorch's errors spell it."""
    return NAMES[(layout_of(t) if isinstance(t, Tensor) else t).name]


def indices_of(t: Any) -> Any:
    return coordinates_of(t, "_indices").indices.array


def values_of(t: Any) -> Any:
    return coordinates_of(t, "_values").values.array


def coordinates_of(t: Any, asked: str) -> Any:
    """The data of a tensor of coordinates; no other layout has it."""
    if layout_of(t) is not sparse_coo:
        backend = "SparseCsrCPU" if t._flags & FLAG_SPARSE else "CPU"
        raise NotImplementedError(f"Could not run 'aten::{asked}' with arguments from the '{backend}' backend: the tensor has "
                                  f"the layout {layout_name(t)}, not Sparse")
    return t._extra.sparse


def sparse_dim_of(t: Any) -> int:
    return int(indices_of(t).shape[0])


def dense_dim_of(t: Any) -> int:
    return int(t.array.ndim) - sparse_dim_of(t)


def count_of(t: Any) -> int:
    return int(values_of(t).shape[0])


def type_name(t: Any) -> str:
    """`torch.sparse.FloatTensor` and the like."""
    return f"torch.{'sparse.' if is_coo(t) else 'sparse_csr.' if is_sparse(t) else ''}{t.dtype.legacy}Tensor"


def size_text(shape: Any) -> str:
    return str(list(shape))


# ---- the entries as rows of a matrix
def keys_of(indices: Any, shape: Any) -> Any:
    """One number for every column of indices, in the order of the columns."""
    keys = np.zeros(indices.shape[1], np.int64)
    for d in range(indices.shape[0]):
        keys = keys * shape[d] + indices[d]
    return keys


def columns_of(keys: Any, shape: Any) -> Any:
    """The index columns for `keys`; `shape` is that of the sparse dimensions."""
    if not len(shape):
        return np.zeros((0, keys.shape[0]), np.int64)
    return lean.stack(np.unravel_index(keys, shape)).astype(np.int64) if keys.size else np.zeros((len(shape), 0), np.int64)


def row_count(shape: Any) -> int:
    return Size(shape).numel()


def dense_array(t: Any) -> Any:
    """The values of a COO tensor as an ordinary array."""
    shape, split = t.array.shape, sparse_dim_of(t)
    made = np.zeros((row_count(shape[:split]), *shape[split:]), t.array.dtype)
    add_rows(made, t)
    return made.reshape(shape)


def add_rows(rows: Any, t: Any, factor: Any = None) -> None:
    """Add the entries of `t` (times `factor`) to the matrix `rows`, one row for every place."""
    values = values_of(t)
    if not values.size:
        return
    if factor is not None:
        values = values * factor
    values = values.astype(rows.dtype, copy=False)
    keys = keys_of(indices_of(t), t.array.shape)
    if data_of(t).coalesced:
        rows[keys] = rows[keys] + values
    else:
        np.add.at(rows, keys, values)


def coalesced(t: Any) -> Any:
    """`t` itself if it is coalesced, else a tensor whose entries are sorted and summed by position."""
    if data_of(t).coalesced:
        return t
    indices, values = indices_of(t), values_of(t)
    keys = keys_of(indices, t.array.shape)
    order = np.argsort(keys, kind="stable")
    places, inverse = np.unique(keys, return_inverse=True)
    summed = np.zeros((places.shape[0], *values.shape[1:]), values.dtype)
    np.add.at(summed, inverse[order], values[order])
    first = order[np.searchsorted(keys[order], places)]
    return new_coo(np.ascontiguousarray(indices[:, first]), summed, t.array.shape, True)


def rows_at(t: Any, indices: Any) -> Any:
    """The values of a coalesced tensor at the columns of `indices`, zeros where it has no entry; and which it has."""
    own = coalesced(t)
    values = values_of(own)
    keys, wanted = keys_of(indices_of(own), t.array.shape), keys_of(indices, t.array.shape)
    made = np.zeros((wanted.shape[0], *values.shape[1:]), values.dtype)
    place = np.searchsorted(keys, wanted)
    found = place < keys.shape[0]
    found[found] = keys[place[found]] == wanted[found]
    made[found] = values[place[found]]
    return made, found


def replace(t: Any, made: Any) -> None:
    """Give `t` the data of `made`, as in-place ops do."""
    data, source = t._extra.sparse, made._extra.sparse
    values = source.values
    if values.array.dtype != t.array.dtype:
        values = new_tensor(values.array.astype(t.array.dtype))
    if is_coo(t):
        data.indices, data.values, data.coalesced = source.indices, values, source.coalesced
    else:
        data.layout, data.compressed, data.plain, data.values = source.layout, source.compressed, source.plain, values
    if t.array.shape != made.array.shape:
        t.array = stand_in(made.array.shape, t.array.dtype)


def common_dtype(*operands: Any) -> Any:
    """The NumPy dtype that tensors and numbers promote to."""
    return kernels.common_dtype(operands).numpy
