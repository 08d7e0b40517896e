"""Products of matrices of few bits with scales, by their plain formula."""
from __future__ import annotations

from typing import Any

from retrograd.core.api import expose
from retrograd.core.dtypes import float32

TENSOR_WISE, ROW_WISE = 0, 1
BLOCKS = {2: (1, 16), 3: (1, 32), 4: (1, 128), 5: (128, 128)}       # numbers of nn.functional.ScalingType


@expose(method=False)
def _scaled_mm(self: Any, mat2: Any, scale_a: Any, scale_b: Any, bias: Any = None, scale_result: Any = None,
               out_dtype: Any = None, use_fast_accum: bool = False) -> Any:
    """The product of two float8 matrices, with one scale each or a scale for each row and column."""
    check_matrices(self, mat2)
    low = self.dtype.itemsize == mat2.dtype.itemsize == 1 and self.dtype.is_floating_point and mat2.dtype.is_floating_point
    if low and scale_a.dtype == scale_b.dtype == float32 and scale_a.numel() == scale_b.numel() == 1:
        recipe = TENSOR_WISE
    elif (low and scale_a.dtype == scale_b.dtype == float32 and scale_a.shape == (len(self), 1)
          and scale_b.shape == (1, mat2.shape[1]) and scale_a.is_contiguous() and scale_b.is_contiguous()):
        recipe = ROW_WISE
    else:
        got = ", ".join([f"{name}.dtype()={value.dtype}, scale_{name[-1]}.dtype()={scale.dtype}, "
                         f"scale_{name[-1]}.size()={list(scale.shape)}, scale_{name[-1]}.stride()={list(scale.stride())}"
                         for name, value, scale in (("mat_a", self, scale_a), ("mat_b", mat2, scale_b))])
        raise ValueError("Invalid scaling configuration.\n- For TensorWise scaling, a and b should be float8, scales should be "
                         "float and singletons.\n- For RowWise scaling, a and b should be float8, scales should be float, "
                         f"scale_a should be ({len(self)}, 1) and scale_b should be (1, {mat2.shape[1]}), and both should be "
                         f"contiguous.\nGot {got}")
    return product(self, mat2, ([scale_a], [recipe]), ([scale_b], [recipe]), bias, out_dtype)


@expose(method=False)
def _scaled_mm_v2(self: Any, mat2: Any, scale_a: Any, recipe_a: Any, swizzle_a: Any, scale_b: Any, recipe_b: Any,
                  swizzle_b: Any, bias: Any, out_dtype: Any, contraction_dim: Any = (), use_fast_accum: bool = False) -> Any:
    """The product of two matrices of few bits, each with lists of scales and of what a scale belongs to."""
    check_matrices(self, mat2)
    if any([*swizzle_a, *swizzle_b]):
        raise NotImplementedError("scales in an order for CUDA's matrix units are not supported: pass them unswizzled")
    return product(self, mat2, (scale_a, recipe_a), (scale_b, recipe_b), bias, out_dtype)


def check_matrices(first: Any, second: Any) -> None:
    for name, matrix in (("mat1", first), ("mat2", second)):
        if matrix.dim() != 2:
            raise RuntimeError(f"{name} must be a matrix")
    if first.shape[1] != second.shape[0]:
        raise RuntimeError(f"mat_a and mat_b shapes cannot be multiplied ({first.shape[0]}x{first.shape[1]} and "
                           f"{second.shape[0]}x{second.shape[1]})")


def product(first: Any, second: Any, scales_a: Any, scales_b: Any, bias: Any, out_dtype: Any) -> Any:
    result = scaled_matrix(first, False, *scales_a) @ scaled_matrix(second, True, *scales_b)
    return (result if bias is None else result + bias.float()).to(first.dtype if out_dtype is None else out_dtype)


def scaled_matrix(matrix: Any, is_second: bool, scales: Any, recipes: Any) -> Any:
    """A matrix as float32 with its scales applied; blocks run along the common dimension."""
    values = matrix.float()
    for scale, recipe in zip(scales, recipes, strict=True):
        factor = scale.float()
        if recipe in BLOCKS:
            rows, columns = BLOCKS[recipe][::-1] if is_second else BLOCKS[recipe]
            factor = factor.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[:values.shape[0], :values.shape[1]]
        elif recipe == TENSOR_WISE:
            factor = factor.reshape(())
        values = values * factor
    return values
