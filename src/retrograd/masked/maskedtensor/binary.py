"""Ops of two tensors of which one or both are masked; the masks must be equal."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.sparse import on_values


def apply_binary(func: Any, args: Any, kwargs: Any, cls: Any) -> Any:
    """The op of the elements, under the mask that both have."""
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    layouts = [other.layout for other in args[:2] if isinstance(other, torch.Tensor) and other.dim()]
    if len(set(layouts)) > 1:
        raise ValueError(f"`a` and `b` must have the same layout. Got {layouts[0]} and {layouts[1]}")
    masks = [other._masked_mask for other in args[:2] if isinstance(other, cls)]
    if layouts and layouts[0] != torch.strided:
        return between_sparse(func, args, cls, masks)
    if len(masks) == 2 and not (masks[0].shape == masks[1].shape and torch.equal(*masks)):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    values = [other._masked_data if isinstance(other, cls) else other for other in args]
    if func._schema.is_mutable:
        func(*values)
        return args[0]
    result = func(*values)
    return cls._wrap(result, masks[0].expand(result.shape))


def between_sparse(func: Any, args: Any, cls: Any, masks: list[Any]) -> Any:
    """The op of the elements that are stored, which both must have in the same places."""
    if len(masks) == 2 and not (masks[0].shape == masks[1].shape and torch.equal(*[mask.to_dense() for mask in masks])):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
    values = [other._masked_data if isinstance(other, cls) else other for other in args]
    like = next(other._masked_data for other in args if isinstance(other, cls))
    return cls._wrap(on_values(func, like, values), masks[0])
