"""inline_asm_elementwise: an elementwise function given as instructions of NVIDIA's processors, which the CPU cannot run."""
from __future__ import annotations

from typing import Any

from retrograd._higher_order_ops.effects import OfOperator

__all__ = ["inline_asm_elementwise"]


class InlineAsmElementwiseOp(OfOperator):
    """`(*inputs, asm_str, constraints, dtype)` -> a tensor; programs look it up, a call raises.

    >>> inline_asm_elementwise(asm_str="", constraints="", dtype=None)
    Traceback (most recent call last):
        ...
    RuntimeError: inline_asm_elementwise only supports CUDA tensors
    """

    def run(self, /, *inputs: Any, asm_str: str, constraints: str, dtype: Any, is_pure: bool = True, pack: int = 1) -> Any:
        raise RuntimeError("inline_asm_elementwise only supports CUDA tensors")


inline_asm_elementwise = InlineAsmElementwiseOp("inline_asm_elementwise")
