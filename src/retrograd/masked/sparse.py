"""Reductions of sparse tensors over the elements that a mask keeps, or over those that are stored."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.masks import highest, lowest, sorted_dims

NAMES = {"sum": "sum", "mean": "sum", "prod": "prod", "amax": "amax", "amin": "amin"}       # as scatter_reduce calls them


def reduce_sparse(operation: str, input: Any, dim: Any, keepdim: bool | None, dtype: Any, mask: Any) -> Any:
    """A reduction of a COO or CSR tensor, in its layout; elements that are kept but not stored count as zero."""
    check(operation, input, bool(keepdim), mask)
    dims = sorted_dims(dim, input.ndim)
    if not input.ndim:
        return one_element(operation, input, dtype, mask)
    split = input.sparse_dim() if input.layout == torch.sparse_coo else 2
    indices, values = kept_entries(operation, input, split, mask)
    if dtype is not None:
        values = values.to(dtype)
    made = reduce_entries(operation, indices, values, tuple(input.shape), dims, bool(keepdim))
    return made.to_sparse_csr() if input.layout == torch.sparse_csr else made


def one_element(operation: str, input: Any, dtype: Any, mask: Any) -> Any:
    """The reduction of a tensor without dimensions: itself, where the mask keeps it."""
    value = input.to_dense()
    if mask is not None and not bool(mask.to_dense() if mask.layout != torch.strided else mask):
        value = torch.full_like(value, identity(operation, value.dtype))
    return value.to(dtype or value.dtype).to_sparse()


def check(operation: str, input: Any, keepdim: bool, mask: Any) -> None:
    layouts = (torch.sparse_csr,) if operation == "mean" else (torch.sparse_coo, torch.sparse_csr)
    if input.layout not in layouts:
        known = "strided or sparse_csr" if operation == "mean" else "strided, sparse_coo or sparse_csr"
        raise ValueError(f"masked {operation} expects {known} tensor (got {input.layout} tensor)")
    if mask is None and operation != "sum":
        short = str(input.layout).removeprefix("torch.")
        named = "amax" if operation == "amin" and input.layout == torch.sparse_coo else operation       # as PyTorch has it
        raise ValueError(f"masked {named} expects explicit mask for {short} tensor input")
    if input.layout == torch.sparse_csr and not keepdim:
        raise RuntimeError("reduction operations on CSR tensors with keepdim=False is unsupported")


def identity(operation: str, dtype: Any) -> Any:
    """What changes no result."""
    if operation in ("amax", "amin"):
        return (lowest if operation == "amax" else highest)(operation, dtype)
    return 1 if operation == "prod" else 0


def kept_entries(operation: str, input: Any, split: int, mask: Any) -> tuple[Any, Any]:
    """The places of the elements that are reduced, a column for each, and their values, with all dense dimensions."""
    if mask is None:
        stored = (input if input.layout == torch.sparse_coo else input.to_sparse_coo()).coalesce()
        return stored.indices(), stored.values()
    kept = torch.broadcast_to(mask.to_dense() if mask.layout != torch.strided else mask, input.shape).to(torch.bool)
    inner = tuple(range(split, kept.ndim))
    places = (kept.any(inner) if inner else kept).nonzero()
    at = tuple(places.unbind(1))
    fill = torch.tensor(identity(operation, input.dtype), dtype=input.dtype)
    return places.t(), torch.where(kept, input.to_dense(), fill)[at]


def reduce_entries(operation: str, indices: Any, values: Any, shape: tuple[int, ...], dims: tuple[int, ...],
                   keepdim: bool) -> Any:
    """Reduce entries that agree in the coordinates which are left, and the dense dimensions of each."""
    split, name = indices.shape[0], NAMES[operation]
    inner = tuple([d - split + 1 for d in dims if d >= split])
    count = values.shape[1:].numel() // max(values.sum(inner, keepdim).shape[1:].numel(), 1) if inner else 1
    for d in reversed(inner):
        values = getattr(torch, name)(values, d, keepdim=keepdim)
    size = tuple([1 if d in dims else n for d, n in enumerate(shape) if keepdim or d not in dims])
    left = [d for d in range(split) if d not in dims]
    if not left:
        total = getattr(torch, name)(values, 0) if values.shape[0] else values.new_full(
            values.shape[1:], identity(operation, values.dtype))
        total = total / (values.shape[0] * count) if operation == "mean" else total
        return total.reshape(size).to_sparse()
    places, group = torch.unique(indices[left], return_inverse=True, dim=1)
    target = values.new_zeros(places.shape[1], *values.shape[1:])
    where = group.reshape(-1, *(1,) * (values.ndim - 1)).expand(values.shape)
    made = target.scatter_reduce(0, where, values, name, include_self=False) if values.numel() else target
    if operation == "mean":
        sizes = torch.bincount(group, minlength=places.shape[1]) * count
        made = made / sizes.reshape(-1, *(1,) * (made.ndim - 1))
    if keepdim:
        spread = indices.new_zeros(split, places.shape[1])
        spread[left] = places
        places = spread
    return torch.sparse_coo_tensor(places, made, size)
