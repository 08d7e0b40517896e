"""out_dtype: a product of integers or of low precision whose result has a wider type."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd._higher_order_ops.effects import OfOperator
from retrograd.core.opdef import OpDef

__all__ = ["OutDtypeOperator", "out_dtype"]


class OutDtypeOperator(OfOperator):
    """`(op, dtype, *args)` -> the result of `op` in `dtype`, computed in the type that holds both.

    >>> a = torch.tensor([[100, 100]], dtype=torch.int8)
    >>> out_dtype(torch.ops.aten.mm.default, torch.int32, a, a.t()).item()
    20000
    """

    def run(self, /, op: Any, output_dtype: Any, *args: Any) -> Any:
        aten = torch.ops.aten
        if not isinstance(op, OpDef):
            raise ValueError("out_dtype's first argument must be an OpOverload")
        if op._schema.is_mutable:
            raise ValueError("out_dtype's first argument needs to be a functional operator")
        allowed = [aten.linear.default, aten.mm.default, aten.conv2d.default, aten.convolution.default, aten.mul.Tensor,
                   aten.mul.Scalar]
        if op not in allowed:
            raise ValueError(f"out_dtype only allows the following operators: {allowed}.")
        wide = output_dtype
        for arg in args:
            if isinstance(arg, torch.Tensor):
                wide = torch.promote_types(wide, arg.dtype)
        return op(*[arg.to(wide) if isinstance(arg, torch.Tensor) else arg for arg in args]).to(output_dtype)


out_dtype = OutDtypeOperator("out_dtype")
