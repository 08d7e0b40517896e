"""The primitives that PyTorch's references are written with, under PyTorch's names, as functions of tensors.

>>> import retrograd as torch
>>> torch._prims.broadcast_in_dim(torch.ones(3), (2, 3), (1,)).shape
torch.Size([2, 3])
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import retrograd as torch

# primitives with another name than the public function
RENAMED = {"bessel_i0": "special.i0", "bessel_i0e": "special.i0e", "bessel_i1": "special.i1", "bessel_i1e": "special.i1e",
           "bessel_j0": "special.bessel_j0", "bessel_j1": "special.bessel_j1", "erf_inv": "erfinv", "erfcx": "special.erfcx",
           "ndtri": "special.ndtri", "spherical_bessel_j0": "special.spherical_bessel_j0", "zeta": "special.zeta",
           "shift_left": "bitwise_left_shift", "shift_right_arithmetic": "bitwise_right_shift", "rev": "flip",
           "view_element_type": "Tensor.view", "item": "Tensor.item", "resize": "Tensor.resize_",
           "copy_to": "Tensor.copy_"}


def __getattr__(name: str) -> Any:
    """A primitive that is a public function."""
    found: Any = None
    if not name.startswith("__"):
        found = torch
        for part in RENAMED.get(name, name).split("."):
            found = getattr(found, part, None)
    if callable(found) and not isinstance(found, type):
        return found
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


# ---- views
def view_of(a: Any) -> Any:
    return torch.ops.aten.alias(a)


def broadcast_in_dim(a: Any, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """`a` expanded to `shape`, its dimensions at `broadcast_dimensions`."""
    if len(broadcast_dimensions) != a.ndim:
        raise ValueError(f"expected a dimension of the result for each of the {a.ndim} dimensions, got {broadcast_dimensions}")
    if list(broadcast_dimensions) != sorted(set(broadcast_dimensions)):
        raise ValueError(f"broadcast_dimensions must be strictly ascending, got {broadcast_dimensions}")
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            a = a.unsqueeze(dim)
    return a.expand(shape)


def expand_dims(a: Any, dimensions: Sequence[int], ndim: int | None = None) -> Any:
    """`a` with dimensions of size one inserted at the places `dimensions` of the result."""
    for dim in sorted([d % (a.ndim + len(dimensions)) for d in dimensions]):
        a = a.unsqueeze(dim)
    return a


def collapse_view(a: Any, start: int, end: int) -> Any:
    """`a` with its dimensions from `start` to `end`, both included, as one."""
    return a.view(*a.shape[:start], prod(a.shape[start:end + 1]), *a.shape[end + 1:])


def collapse(a: Any, start: int, end: int) -> Any:
    """`collapse_view`, copied."""
    return a.reshape(*a.shape[:start], prod(a.shape[start:end + 1]), *a.shape[end + 1:]).clone()


def split_dim(a: Any, dim: int, outer_length: int) -> Any:
    """`a` with one dimension as two, the first of `outer_length`."""
    if outer_length < 1 or a.shape[dim] % outer_length:
        raise ValueError(f"Attempting to split dimension of length {a.shape[dim]}, but outer length of {outer_length} "
                         "divides it with a remainder!")
    return a.view(*a.shape[:dim], outer_length, a.shape[dim] // outer_length, *a.shape[dim + 1:])


# ---- values
def cbrt(a: Any) -> Any:
    """The real cube root."""
    return torch.copysign(torch.pow(torch.abs(a), 1 / 3), a)


def convert_element_type(a: Any, dtype: Any) -> Any:
    return a.to(dtype, copy=True)


def device_put(a: Any, device: Any, non_blocking: bool = False) -> Any:
    return a.to(device, non_blocking=non_blocking)


def iota(length: int, *, start: int, step: int, dtype: Any, device: Any, requires_grad: bool) -> Any:
    """`length` integers from `start` in steps of `step`."""
    return torch.arange(start, start + length * step, step, dtype=dtype, device=device, requires_grad=requires_grad)


def maximum_value(dtype: Any) -> Any:
    """The largest finite number of a dtype."""
    return True if dtype is torch.bool else (torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).max


def minimum_value(dtype: Any) -> Any:
    """The smallest finite number of a dtype."""
    return False if dtype is torch.bool else (torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).min


# ---- Fourier transforms over several dimensions
def fft_r2c(input: Any, *, dim: Sequence[int], onesided: bool) -> Any:
    return torch.fft.rfftn(input, dim=dim) if onesided else torch.fft.fftn(input, dim=dim)


def fft_c2c(input: Any, *, dim: Sequence[int], forward: bool) -> Any:
    return torch.fft.fftn(input, dim=dim) if forward else torch.fft.ifftn(input, dim=dim, norm="forward")


def fft_c2r(input: Any, *, dim: Sequence[int], last_dim_size: int) -> Any:
    return torch.fft.irfftn(input, s=[*[input.shape[d] for d in dim[:-1]], last_dim_size], dim=dim, norm="forward")
