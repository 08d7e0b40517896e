"""Products of groups of matrices, and of matrices with scales."""
from __future__ import annotations

from enum import Enum
from typing import Any

import retrograd as torch


class ScalingType(Enum):
    """What one scale belongs to: a tensor, a row, or a block of elements.

    >>> import retrograd as torch
    >>> torch.nn.functional.ScalingType.RowWise.value
    1
    """

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(Enum):
    """The order in which scales lie in memory.

    >>> import retrograd as torch
    >>> torch.nn.functional.SwizzleType.NO_SWIZZLE.value
    0
    """

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def grouped_mm(mat_a: Any, mat_b: Any, *, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Products of groups of matrices; `offs` says where the groups end along the rows, columns or the common dimension.

    >>> a, b = torch.ones(3, 2), torch.ones(2, 2, 4)
    >>> torch.nn.functional.grouped_mm(a, b, offs=torch.tensor([1, 3], dtype=torch.int32)).shape
    torch.Size([3, 4])
    """
    return torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)


def scaled_mm(mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
              swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, output_dtype: Any = torch.bfloat16,
              contraction_dim: Any = (), use_fast_accum: bool = False) -> Any:
    """The product of two matrices of few bits, each with scales.

    >>> low = torch.ones(2, 2).to(torch.float8_e4m3fn)
    >>> one = ScalingType.TensorWise
    >>> scaled_mm(low, low, torch.tensor([2.0]), one, torch.tensor([3.0]), one, output_dtype=torch.float32)
    tensor([[12., 12.],
            [12., 12.]])
    """
    return torch._scaled_mm_v2(mat_a, mat_b, as_list(scale_a), numbers(scale_recipe_a), numbers(swizzle_a), as_list(scale_b),
                               numbers(scale_recipe_b), numbers(swizzle_b), bias, output_dtype or torch.bfloat16,
                               contraction_dim, use_fast_accum)


def scaled_grouped_mm(mat_a: Any, mat_b: Any, scale_a: Any, scale_recipe_a: Any, scale_b: Any, scale_recipe_b: Any,
                      swizzle_a: Any = None, swizzle_b: Any = None, bias: Any = None, offs: Any = None,
                      output_dtype: Any = torch.bfloat16, contraction_dim: Any = (), use_fast_accum: bool = False) -> Any:
    """Products of groups of matrices with scales, which PyTorch has on CUDA alone.

    >>> import retrograd as torch
    >>> torch.nn.functional.scaled_grouped_mm(None, None, None, None, None, None)
    Traceback (most recent call last):
        ...
    NotImplementedError: Could not run 'aten::_scaled_grouped_mm_v2' with arguments from the 'CPU' backend.
    """
    raise NotImplementedError("Could not run 'aten::_scaled_grouped_mm_v2' with arguments from the 'CPU' backend.")


def as_list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def numbers(kinds: Any) -> list[int]:
    """The values of members of ScalingType or SwizzleType."""
    return [kind.value for kind in as_list(kinds)]
