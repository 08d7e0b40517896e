"""The compressed layouts: CSR and CSC, whose entries are single numbers, BSR and BSC, whose entries are blocks.

NOTE [Compressed layouts]
All four share one structure: entries sorted by row (CSR, BSR) or by column (CSC, BSC), with the number of entries before each
row or column in `compressed` and the other coordinate of every entry in `plain`. Conversions and most kernels work on
`Entries`, the plain list of (row, column, value), and only their order differs from layout to layout.

There may be batches of matrices with as many entries each; then all three arrays have the dimensions of the batch in front,
and kernels go from matrix to matrix (`matrices_of`, `stacked`).
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from retrograd.core import lean
from retrograd.core.hooks import hooks
from retrograd.core.tensor import new_tensor
from retrograd.ops import late
from retrograd.ops.memory.copy import sparse_bsc, sparse_bsr, sparse_csr
from retrograd.ops.shared.along import nonzero as positions_of
from retrograd.ops.sparse.coo import (
    NAMES,
    coalesced,
    data_of,
    indices_of,
    is_coo,
    is_sparse,
    layout_name,
    new_coo,
    sparse_dim_of,
    sparse_tensor,
    values_of,
)

BY_ROW = (sparse_csr, sparse_bsr)
IN_BLOCKS = (sparse_bsr, sparse_bsc)


class Compressed:
    """The data of a tensor in a compressed layout."""

    __slots__ = ("compressed", "layout", "plain", "values")

    def __init__(self, layout: Any, compressed: Any, plain: Any, values: Any) -> None:
        self.layout = layout
        self.compressed = compressed
        self.plain = plain
        self.values = values

    def copy(self) -> Compressed:
        return Compressed(self.layout, self.compressed, self.plain, self.values)

    def __reduce__(self) -> Any:
        return (Compressed, (self.layout, self.compressed, self.plain, self.values))

    @property
    def batch(self) -> int:
        """The number of batch dimensions."""
        return int(self.compressed.array.ndim) - 1

    @property
    def blocksize(self) -> Any:
        return tuple(self.values.array.shape[self.batch + 1:self.batch + 3]) if self.layout in IN_BLOCKS else None

    @property
    def dense_dim(self) -> int:
        return int(self.values.array.ndim) - self.batch - (3 if self.layout in IN_BLOCKS else 1)

    def names(self) -> tuple[str, str]:
        return ("crow_indices", "col_indices") if self.layout in BY_ROW else ("ccol_indices", "row_indices")


class Entries(NamedTuple):
    """Entries by row and column; of blocks, where these are larger than one element, by block row and column."""

    rows: Any
    columns: Any
    values: Any


def is_compressed(t: Any) -> bool:
    return is_sparse(t) and not is_coo(t)


def new_compressed(layout: Any, compressed: Any, plain: Any, values: Any, shape: Any) -> Any:
    """A tensor in a compressed layout on three arrays."""
    return sparse_tensor(Compressed(layout, new_tensor(compressed), new_tensor(plain), new_tensor(values)), shape)


def with_entry_values(t: Any, values: Any) -> Any:
    """A tensor with the entries of `t` but other values (a tensor)."""
    data = data_of(t).copy()
    data.values = values
    return sparse_tensor(data, t.array.shape)


# ---- batches
def matrices_of(t: Any) -> list[Any]:
    """The matrices of a batch, each as a tensor over the same memory."""
    data = data_of(t)
    n = data.batch
    count = math.prod(t.array.shape[:n])
    parts = [array.reshape(count, *array.shape[n:]) for array in (data.compressed.array, data.plain.array, data.values.array)]
    return [new_compressed(data.layout, parts[0][i], parts[1][i], parts[2][i], t.array.shape[n:]) for i in range(count)]


def stacked(matrices: list[Any], batch: Any) -> Any:
    """The batch of some matrices of one layout and shape; `batch` are the lengths of its dimensions."""
    found = [data_of(t) for t in matrices]
    if len({data.plain.array.shape for data in found}) > 1:
        raise RuntimeError("Expect the same number of specified elements per batch.")
    parts = [np.stack([getattr(data, name).array for data in found]) for name in ("compressed", "plain", "values")]
    parts = [array.reshape(*batch, *array.shape[1:]) for array in parts]
    return new_compressed(found[0].layout, parts[0], parts[1], parts[2], (*batch, *matrices[0].array.shape))


def each_matrix(t: Any, change: Callable[[Any], Any]) -> Any:
    """The batch of the results of `change` on the matrices of `t`."""
    return stacked([change(matrix) for matrix in matrices_of(t)], t.array.shape[:data_of(t).batch])


def is_batch(t: Any) -> bool:
    return is_compressed(t) and data_of(t).batch > 0


# ---- from and to entries
def entries_of(t: Any) -> Entries:
    """The entries in the order in which they are stored."""
    if is_coo(t):
        indices = indices_of(t)
        return Entries(indices[0], indices[1], values_of(t))
    data = data_of(t)
    compressed, plain = data.compressed.array, data.plain.array
    spread = np.repeat(np.arange(compressed.shape[0] - 1), np.diff(compressed))
    values = data.values.array
    return Entries(spread, plain, values) if data.layout in BY_ROW else Entries(plain, spread, values)


def from_entries(entries: Entries, layout: Any, shape: Any) -> Any:
    """A tensor in a compressed layout; each position may occur once."""
    rows, columns, values = entries
    block = values.shape[1:3] if layout in IN_BLOCKS else (1, 1)
    major, minor, d = (rows, columns, 0) if layout in BY_ROW else (columns, rows, 1)
    order = np.lexsort((minor, major))
    counts = np.bincount(major, minlength=shape[d] // block[d]) if shape[d] else np.zeros(0, np.int64)
    compressed = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return new_compressed(layout, compressed, minor[order].astype(np.int64), np.ascontiguousarray(values[order]), shape)


def in_blocks(entries: Entries, blocksize: Any, shape: Any) -> Entries:
    """Single elements gathered into blocks."""
    rows, columns, values = entries
    height, width = blocksize
    keys = (rows // height) * (shape[1] // width) + columns // width
    places, inverse = np.unique(keys, return_inverse=True)
    blocks = np.zeros((places.shape[0], height, width, *values.shape[1:]), values.dtype)
    blocks[inverse, rows % height, columns % width] = values
    per_row = max(shape[1] // width, 1)
    return Entries(places // per_row, places % per_row, blocks)


def out_of_blocks(entries: Entries) -> Entries:
    """The single elements of all blocks, block by block."""
    rows, columns, blocks = entries
    height, width = blocks.shape[1:3]
    down, across = np.divmod(np.arange(height * width), width)
    return Entries((rows[:, None] * height + down).reshape(-1), (columns[:, None] * width + across).reshape(-1),
                   blocks.reshape(-1, *blocks.shape[3:]))


def elements_of(t: Any) -> Entries:
    entries = entries_of(t)
    return out_of_blocks(entries) if is_compressed(t) and data_of(t).blocksize is not None else entries


def as_coo(t: Any) -> Any:
    """The same entries as a COO tensor."""
    if is_batch(t):
        return batch_as_coo(t)
    rows, columns, values = elements_of(t)
    return new_coo(lean.stack([rows, columns]), values, t.array.shape, data_of(t).layout is sparse_csr)


def batch_as_coo(t: Any) -> Any:
    """A batch of matrices as a COO tensor, whose first coordinates number the matrices."""
    batch = t.array.shape[:data_of(t).batch]
    found = [elements_of(matrix) for matrix in matrices_of(t)]
    which = np.repeat(np.arange(len(found)), [entries.rows.shape[0] for entries in found])
    inner = [np.concatenate([entries[k] for entries in found]) for k in range(3)]
    return new_coo(np.stack([*np.unravel_index(which, batch), *inner[:2]]), inner[2], t.array.shape,
                   data_of(t).layout is sparse_csr)


def dense_of(t: Any) -> Any:
    """The values of a tensor in a compressed layout as an ordinary array."""
    if is_batch(t):
        if t.array.size == 0:
            return np.zeros(t.array.shape, t.array.dtype)
        return np.stack([dense_of(matrix) for matrix in matrices_of(t)]).reshape(t.array.shape)
    rows, columns, values = elements_of(t)
    made = np.zeros(t.array.shape, t.array.dtype)
    np.add.at(made, (rows, columns), values)
    return made


def from_dense(array: Any, layout: Any, blocksize: Any) -> Any:
    """A tensor in a compressed layout of the entries, or blocks, of an array that are not zero; its first two dimensions are
    those of the matrix."""
    shape = array.shape
    if blocksize is not None:
        height, width = blocksize
        array = array.reshape(shape[0] // height, height, shape[1] // width, width, *shape[2:]).swapaxes(1, 2)
    mask = array != 0
    if mask.ndim > 2:
        mask = mask.any(axis=tuple(range(2, mask.ndim)))
    by_row = layout in BY_ROW
    major, minor = positions_of(mask if by_row else mask.T)
    compressed = np.zeros(mask.shape[0 if by_row else 1] + 1, np.int64)
    np.cumsum(mask.sum(1 if by_row else 0), out=compressed[1:])
    values = array[major, minor] if by_row else array[minor, major]
    return new_compressed(layout, compressed, np.ascontiguousarray(minor), np.ascontiguousarray(values), shape)


def to_compressed(t: Any, layout: Any, blocksize: Any, dense_dim: Any) -> Any:
    """Convert a tensor of any layout into a compressed one."""
    name = NAMES[layout.name]
    short = layout.name.removeprefix("sparse_")
    whence = "dense_to_sparse" if not is_sparse(t) else "coo_to_sparse" if is_coo(t) else "sparse_compressed_to_sparse"
    if (blocksize is not None) != (layout in IN_BLOCKS):
        given = "with" if blocksize is not None else "without"
        if not is_compressed(t) or data_of(t).blocksize is None:
            raise RuntimeError(f"{whence}: conversion from {layout_name(t)} to {name} {given} blocksize argument given is not "
                               "supported")
    if is_batch(t):
        if data_of(t).blocksize is None and layout in IN_BLOCKS:
            raise RuntimeError(f"sparse_compressed_to_sparse_{short}: conversion from {layout_name(t)} to {name} for batched "
                               "inputs is not supported")
        return each_matrix(t, lambda matrix: to_compressed(matrix, layout, blocksize, dense_dim))
    if is_compressed(t) and data_of(t).blocksize is not None:
        return from_blocks(t, layout, blocksize, short)
    shape = t.array.shape
    if not is_sparse(t):
        batch = t.array.ndim - 2 - (dense_dim or 0)
        if dense_dim is not None and not 0 <= dense_dim <= t.array.ndim - 2:
            raise RuntimeError(f"dense_to_sparse_{short}: dense_dim argument must be in [0,{t.array.ndim - 2}] range, but "
                               f"{dense_dim} is given")
        if batch < 0:
            raise IndexError("select(): index 1 out of range for tensor of size "
                             f"[{np.count_nonzero(t.array)}, {t.array.ndim}] at dimension 1")
        if batch > 0:
            matrices = t.array.reshape(math.prod(shape[:batch]), *shape[batch:])
            if not matrices.shape[0]:
                raise RuntimeError(f"to_sparse_{short}: Expected product of batch dimensions to be non-zero.")
            return stacked([to_compressed(new_tensor(matrix), layout, blocksize, dense_dim) for matrix in matrices],
                           shape[:batch])
        check_blocks(blocksize, shape, f"dense_to_sparse_{short}")
        return from_dense(t.array, layout, blocksize)
    if is_coo(t) and sparse_dim_of(t) != 2:
        raise RuntimeError(f"coo_to_sparse_{short}: conversion from Sparse to {name} for input tensors with "
                           "sparse_dim()!=2 is not supported")
    check_blocks(blocksize, shape, f"{whence}_{short}")
    entries = entries_of(coalesced(t) if is_coo(t) else t)
    if blocksize is not None:
        entries = in_blocks(entries, tuple(blocksize), shape)
    return from_entries(entries, layout, shape)


def check_blocks(blocksize: Any, shape: Any, name: str) -> None:
    if blocksize is None:
        return
    if len(blocksize) != 2:
        raise RuntimeError(f"{name}: blocksize needs to be a tuple of size 2, but got {len(blocksize)}")
    height, width = blocksize
    if height <= 0 or width <= 0:
        raise RuntimeError(f"{name}: blocksize needs to be positive, but got [{height}, {width}]")
    if shape[0] % height or shape[1] % width:
        raise RuntimeError(f"{name}: tensor sparse size ({shape[0]},{shape[1]}) must be divisible by given blocksize "
                           f"({height},{width})")


def from_blocks(t: Any, layout: Any, blocksize: Any, short: str) -> Any:
    """Convert blocks to blocks of the same size."""
    own = data_of(t).blocksize
    if layout not in IN_BLOCKS:
        raise RuntimeError(f"sparse_compressed_to_sparse_{short}: expected SparseCsr or SparseCsc layout but got "
                           f"{layout_name(t)}")
    if blocksize is not None and tuple(blocksize) != own:
        raise RuntimeError(f"to_sparse_{short}: conversion from {layout_name(t)} to {NAMES[layout.name]} with blocksize "
                           f"changed from {list(own)} to {list(blocksize)} is not supported")
    return from_entries(entries_of(t), layout, t.array.shape)


def parts(t: Any) -> Any:
    """The printed parts of a tensor in a compressed layout."""
    data = data_of(t)
    first, second = data.names()
    return [(first, data.compressed.array), (second, data.plain.array), ("values", data.values.array)]


def matrix_of(t: Any) -> Any:
    """A COO tensor for kernels that support only COO; dense tensors are unchanged."""
    return as_coo(t) if is_compressed(t) else t


def masked(t: Any, mask: Any) -> Any:
    """The values of `t` at the positions of the entries of `mask`."""
    whole = dense_of(t) if is_compressed(t) else late.to_dense(t.detach()).array if is_sparse(t) else t.array
    if is_batch(mask):
        batch = mask.array.shape[:data_of(mask).batch]
        parts = whole.reshape(math.prod(batch), *whole.shape[len(batch):])
        return stacked([masked(new_tensor(part), matrix) for part, matrix in zip(parts, matrices_of(mask), strict=True)], batch)
    rows, columns, values = entries_of(mask)
    if data_of(mask).blocksize is not None:
        height, width = data_of(mask).blocksize
        down, across = np.arange(height)[None, :, None], np.arange(width)[None, None, :]
        picked = whole[rows[:, None, None] * height + down, columns[:, None, None] * width + across]
    else:
        picked = whole[rows, columns]
    return with_entry_values(mask, new_tensor(np.ascontiguousarray(picked.reshape(values.shape))))


hooks.to_compressed = to_compressed
hooks.compressed_parts = parts
