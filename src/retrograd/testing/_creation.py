"""`make_tensor`: a tensor of random values that suit a dtype."""
from __future__ import annotations

import math
import warnings
from typing import Any

import retrograd as torch
from retrograd import Tensor

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz)
FLOATING = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex32, torch.complex64, torch.complex128)


def make_tensor(*shape: Any, dtype: Any, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """A tensor with values drawn uniformly from [low, high): by default [-9, 9), [-9, 10) for integers, [0, 10) for bytes.

    >>> import retrograd as torch
    >>> make_tensor(2, 3, dtype=torch.int64, device="cpu", low=4, high=5)
    tensor([[4, 4, 4],
            [4, 4, 4]])
    """
    size: tuple[int, ...] = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    if noncontiguous and memory_format is not None:
        raise ValueError("The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
                         f"noncontiguous={noncontiguous!r} and memory_format={memory_format!r}")
    if requires_grad and dtype not in FLOATING + COMPLEX:
        raise ValueError(f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype!r}")
    if noncontiguous and math.prod(size) > 1:
        # every second element of twice as many
        result = fill(size[:-1] + (2 * size[-1],), dtype, low, high, device)[..., 1::2]
    else:
        result = fill(size, dtype, low, high, device)
        if memory_format is not None:
            result = result.clone(memory_format=memory_format)
    if exclude_zero:
        smallest = torch.finfo(dtype).tiny if dtype in FLOATING + COMPLEX else 1
        result[result == 0] = smallest
    return result.requires_grad_() if requires_grad else result


def fill(size: tuple[int, ...], dtype: Any, low: float | None, high: float | None, device: Any) -> Tensor:
    """Values of a dtype in its usual range, or in the one given."""
    if dtype is torch.bool:
        low, high = bounds(low, high, 0, 2, dtype, 0, 2)
        return torch.randint(math.ceil(low), math.ceil(high), size, device=device, dtype=dtype)
    if dtype in FLOATING + COMPLEX:
        limits = torch.finfo(dtype)
        low, high = bounds(low, high, -9, 9, dtype, limits.min, limits.max)
        result = torch.empty(size, dtype=dtype, device=device)
        numbers = torch.view_as_real(result) if dtype in COMPLEX else result
        if high - low >= limits.max:         # the range itself is no number of this dtype
            numbers.uniform_(low / 2, high / 2).mul_(2)
        else:
            numbers.uniform_(low, high)
        return result
    if dtype in FLOAT8:
        low, high = bounds(low, high, -9, 9, dtype, torch.finfo(dtype).min, torch.finfo(dtype).max)
        return torch.empty(size, device=device).uniform_(low, high).to(dtype)
    if dtype not in WHOLE:
        raise TypeError(f"The requested dtype '{dtype}' is not supported by torch.testing.make_tensor().")
    whole = torch.iinfo(dtype)
    # randint takes no upper bound beyond the integers of 64 bits
    low, high = bounds(low, high, -9, 10, dtype, whole.min, whole.max + (dtype is not torch.int64))
    return torch.randint(math.ceil(low), math.ceil(high), size, device=device, dtype=dtype)


def bounds(low: Any, high: Any, default_low: int, default_high: int, dtype: Any, lowest: float, end: float) -> Any:
    """The interval to draw from: what is given, within [lowest, end)."""
    low = default_low if low is None else low
    high = default_high if high is None else high
    if any([isinstance(value, float) and math.isnan(value) for value in (low, high)]):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low!r} and high={high!r}")
    if low == high and dtype in FLOATING + COMPLEX + FLOAT8:
        warnings.warn("Passing `low==high` to `torch.testing.make_tensor` for floating or complex types is deprecated since "
                      "2.1 and will be removed in 2.3. Use `torch.full(...)` instead.", FutureWarning, stacklevel=4)
    elif low >= high:
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    elif high < lowest or low >= end:
        raise ValueError(f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
                         f"[{lowest}, {end})")
    return max(low, lowest), min(high, end)
