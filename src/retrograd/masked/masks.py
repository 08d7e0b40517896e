"""Masks made to fit their tensors, and the values that masked elements are given before an operation."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch


def fitting_mask(input: Any, mask: Any) -> Any:
    """The mask as bools of the shape of `input`."""
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = mask if mask.layout == torch.strided else mask.to_dense()
    if mask.shape != input.shape:
        mask = torch.broadcast_to(mask.clone(), input.shape)
    return mask.to(torch.bool)


def filled(operation: str, input: Any, mask: Any, value: Any) -> Any:
    """`input` with `value` in place of the elements that the mask leaves out; None for a mask leaves out nothing."""
    if input.layout != torch.strided:
        raise ValueError(f"masked {operation} expects strided tensor (got {input.layout} tensor)")
    if mask is None:
        return input
    return torch.where(fitting_mask(input, mask), input, torch.tensor(value, dtype=input.dtype, device=input.device))


def lowest(operation: str, dtype: Any) -> Any:
    """The value that never wins a maximum; `iinfo` refuses complex numbers, which have no order."""
    if dtype.is_floating_point:
        return -math.inf
    check_ordered(operation, dtype)
    return int(torch.iinfo(dtype).min)


def highest(operation: str, dtype: Any) -> Any:
    """The value that never wins a minimum."""
    if dtype.is_floating_point:
        return math.inf
    check_ordered(operation, dtype)
    return int(torch.iinfo(dtype).max)


def check_ordered(operation: str, dtype: Any) -> None:
    if dtype == torch.bool:
        raise NotImplementedError(f"identity of {operation} on {dtype} input")


def sorted_dims(dim: Any, ndim: int) -> tuple[int, ...]:
    """The dimensions to reduce, counted from the front; None and () stand for all of them."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    dims: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in dims:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        dims.append(d % ndim)
    return tuple(sorted(dims))
