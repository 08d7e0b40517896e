"""Functions of `torch` about sparse tensors under older and private names."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.core.api import declared
from retrograd.masked.sparse import reduce_sparse
from retrograd.ops.sparse.compressed_construct import check_order

saddmm, hsmm = torch.sspaddmm, torch.hspmm


def _coalesce(self: Any) -> Any:
    """A sparse tensor with one entry for each place.

    >>> _coalesce(torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (2,))).values()
    tensor([3.])
    """
    return self.coalesce()


def _sparse_sum(self: Any, dim: Any = None, *, dtype: Any = None) -> Any:
    """`torch.sparse.sum`.

    >>> _sparse_sum(torch.eye(2).to_sparse(), dim=[0]).to_dense()
    tensor([1., 1.])
    """
    return torch.sparse.sum(self, dim=dim, dtype=dtype)


@declared("native_norm(Tensor self, Scalar p=2) -> Tensor")
def native_norm(input: Any, p: float = 2) -> Any:
    """The norm of the entries of a sparse tensor.

    >>> native_norm(torch.tensor([3.0, 0.0, 4.0]).to_sparse())
    tensor(5.)
    """
    return torch.norm(input, p)


def _sparse_broadcast_to(self: Any, size: Any) -> Any:
    """A sparse tensor with the entries of `self` repeated along dimensions of size one and new ones.

    >>> _sparse_broadcast_to(torch.tensor([[1.0, 0.0]]).to_sparse(), (2, 2)).to_dense()
    tensor([[1., 0.],
            [1., 0.]])
    """
    size, extra = tuple(size), len(size) - self.ndim
    for d, have in enumerate(self.shape):
        if extra < 0 or have not in (1, size[extra + d]):
            raise RuntimeError(f"The input's length {have} at dimension {d} does not broadcast over the requested shape of "
                               f"length {size[extra + d] if extra >= 0 else len(size)} at dimension {extra + d}")
    split = extra + self.sparse_dim()
    grown = [d for d in range(split) if d < extra or self.shape[d - extra] != size[d]]
    copies = torch.cartesian_prod(*[torch.arange(size[d]) for d in grown]).reshape(-1, len(grown)) if grown else None
    count, indices, values = 1 if copies is None else copies.shape[0], self._indices(), self._values()
    rows = [copies[:, grown.index(d)].repeat_interleave(self._nnz()) if copies is not None and d in grown
            else indices[d - extra].repeat(count) for d in range(split)]
    values = values.expand(values.shape[0], *size[split:])
    made = torch.sparse_coo_tensor(torch.stack(rows) if rows else indices, torch.cat([values] * count) if count else values[:0],
                                   size)
    return made._coalesced_(self.is_coalesced() and grown == list(range(len(grown))))


def _sparse_csr_sum(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """The sums of the entries of a CSR matrix along dimensions that stay.

    >>> _sparse_csr_sum(torch.eye(2).to_sparse_csr(), dim=(0,), keepdim=True).to_dense()
    tensor([[1., 1.]])
    """
    return torch.sum(self, dim=dim, keepdim=keepdim, dtype=dtype)


def _sparse_csr_prod(self: Any, dim: Any, keepdim: bool = False, dtype: Any = None) -> Any:
    """The products of the entries of a CSR matrix along dimensions that stay.

    >>> _sparse_csr_prod(torch.tensor([[1.0, 2.0], [0.0, 3.0]]).to_sparse_csr(), dim=(0,), keepdim=True).to_dense()
    tensor([[1., 6.]])
    """
    stored = torch.sparse_csr_tensor(self.crow_indices(), self.col_indices(), torch.ones_like(self.values(), dtype=torch.bool),
                                     self.shape)
    return reduce_sparse("prod", self, dim, keepdim, dtype, stored)


def _validate_compressed_sparse_indices(is_crow: bool, compressed_idx: Any, plain_idx: Any, cdim: int, dim: int,
                                        nnz: int) -> None:
    """Raise unless the indices of a compressed tensor are within its size, sorted and distinct.

    >>> _validate_compressed_sparse_indices(True, torch.tensor([0, 1, 2]), torch.tensor([0, 1]), 2, 2, 2)
    """
    name, count = ("crow_indices", "nrows") if is_crow else ("ccol_indices", "ncols")
    if compressed_idx.shape[-1] != cdim + 1:
        raise RuntimeError(f"{name} have wrong shape: {name}.shape[-1] = {compressed_idx.shape[-1]} is not equal to {count} "
                           f"+ 1 = {cdim + 1}")
    check_order(torch.sparse_csr if is_crow else torch.sparse_csc, compressed_idx.numpy(), plain_idx.numpy(), dim)
