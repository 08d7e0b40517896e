"""Operators around a function that a compiler keeps in one piece: outside of a compiler they call it."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import retrograd as torch
from retrograd.library.higher_order import HigherOrderOperator
from retrograd.nn.attention.flex_attention import BlockMask, flex_attention

__all__ = ["InvokeQuant", "flex_attention_op", "invoke_quant", "invoke_quant_packed", "invoke_subgraph", "register_hook_op"]


class Region(HigherOrderOperator):
    """`(function, *operands)` -> what the function returns."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __call__(self, subgraph: Callable[..., Any], /, *operands: Any, **options: Any) -> Any:
        return subgraph(*operands)


class NamedRegion(Region):
    """`(function, name, *operands)` -> what the function returns; functions of one name are the same function."""

    def __call__(self, subgraph: Callable[..., Any], /, *operands: Any, **options: Any) -> Any:
        name, *rest = operands
        if name is not None and not isinstance(name, str):
            raise AssertionError(f"identifier must be None or a string, got {type(name)}")
        return subgraph(*rest)


class RegisterHook(HigherOrderOperator):
    """`(tensor, hook, *values)` -> the tensor, whose gradient goes through `hook(grad, *values)`.

    >>> x = torch.ones(1, requires_grad=True)
    >>> register_hook_op(x, lambda grad, factor: grad * factor, 3).sum().backward()
    >>> x.grad
    tensor([3.])
    """

    def __init__(self) -> None:
        super().__init__("register_hook", cacheable=True)

    def __call__(self, tensor: Any, hook_body: Callable[..., Any], /, *freevars: Any) -> Any:
        tensor.register_hook(lambda grad: hook_body(grad, *freevars))
        return tensor


class FlexAttention(HigherOrderOperator):
    """Attention with a function of scores and a block mask as a tuple -> the output, and log-sum-exp and maximum by base 2."""

    def __init__(self) -> None:
        super().__init__("flex_attention")

    def __call__(self, query: Any, key: Any, value: Any, /, *rest: Any) -> Any:
        score_mod, block_mask, scale, options, score_buffers, mask_buffers = (*rest, (), ())[:6]

        def score(*args: Any) -> Any:
            return score_mod(*args, *score_buffers)

        def mask(*args: Any) -> Any:
            return block_mask[-1](*args, *mask_buffers)

        counts, indices, full_counts, full_indices = block_mask[2:6]
        seen = BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, BLOCK_SIZE=tuple(block_mask[-3:-1]),
                                        mask_mod=mask, seq_lengths=(query.size(-2), key.size(-2)))
        asked = torch.nn.attention.flex_attention.AuxRequest(lse=True, max_scores=True)
        output, aux = flex_attention(query, key, value, score, seen, scale, enable_gqa=query.size(1) != key.size(1),
                                     kernel_options=options, return_aux=asked)
        return output, aux.lse / math.log(2), aux.max_scores / math.log(2)


@dataclass(frozen=True)
class InvokeQuant:
    """Calls a function that a compiler keeps as one operator.

    >>> InvokeQuant()(torch.neg, torch.ones(1))
    tensor([-1.])
    """

    codegen_low_precision: bool = True

    def __call__(self, *args: Any, scheme: str | None = None, **kwargs: Any) -> Any:
        return args[0](*args[1:], **kwargs)


invoke_quant, invoke_quant_packed = Region("invoke_quant"), Region("invoke_quant_packed")
invoke_subgraph = NamedRegion("invoke_subgraph")
register_hook_op = RegisterHook()
flex_attention_op = FlexAttention()
