"""Masked tensors in sparse layouts: they store the elements that are there, and nothing else."""
from __future__ import annotations

from typing import Any

import retrograd as torch

LAYOUTS = (torch.sparse_coo, torch.sparse_csr)


def in_layout(data: Any, mask: Any, layout: Any) -> tuple[Any, Any]:
    """Elements and mask in another layout."""
    if layout == torch.strided:
        return (data, mask) if mask.layout == layout else (data.to_dense(), mask.to_dense())
    kept = mask if mask.layout == torch.strided else mask.to_dense()
    places = kept.to_sparse().coalesce() if layout == torch.sparse_coo else kept.to_sparse_csr()
    whole = data if data.layout == torch.strided else data.to_dense()
    return whole.sparse_mask(places), places


def with_values(like: Any, values: Any) -> Any:
    """A sparse tensor with the places of another one and other values."""
    if like.layout == torch.sparse_coo:
        own = like.coalesce()
        return torch.sparse_coo_tensor(own.indices(), values, own.shape, is_coalesced=True)
    return torch.sparse_csr_tensor(like.crow_indices(), like.col_indices(), values, like.shape)


def values_of(t: Any) -> Any:
    """The values of a tensor that may be sparse."""
    return t if t.layout == torch.strided else t.coalesce().values() if t.layout == torch.sparse_coo else t.values()


def on_values(func: Any, like: Any, args: Any) -> Any:
    """An elementwise op of the values of sparse tensors with the same places."""
    return with_values(like, func(*[values_of(a) if isinstance(a, torch.Tensor) and a.layout != torch.strided else a
                                    for a in args]))
