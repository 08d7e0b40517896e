"""Causal masks for attention that need no memory until they are used."""
from __future__ import annotations

import warnings
from enum import IntEnum, auto
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.nn import functional as F

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """Which corner the diagonal starts from, where there are not as many queries as keys."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A causal mask of some size, for the attn_mask of scaled_dot_product_attention.

    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """

    def __new__(cls, variant: Any, seq_len_q: int, seq_len_kv: int) -> Any:
        return Tensor._make_subclass(cls, torch.empty(0))

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        self.variant, self.seq_len_q, self.seq_len_kv = variant, seq_len_q, seq_len_kv
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warnings.warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)

    def _materialize(self, device: Any = None) -> Any:
        """The mask as an ordinary tensor."""
        shift = self.seq_len_kv - self.seq_len_q if self.variant == CausalVariant.LOWER_RIGHT else 0
        return torch.ones(self.seq_len_q, self.seq_len_kv, device=device, dtype=torch.bool).tril(shift)

    @staticmethod
    def _dispatch(query: Any, key: Any, value: Any, attn_mask: Any, dropout_p: float = 0.0, is_causal: bool = False,
                  scale: float | None = None, enable_gqa: bool = False) -> Any:
        if is_causal:
            raise ValueError("CausalBias should not be used with causal=True")
        return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask._materialize(query.device),
                                              dropout_p=dropout_p, scale=scale, enable_gqa=enable_gqa)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is F.scaled_dot_product_attention:
            return cls._dispatch(*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[misc]

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return repr(self._materialize())


def causal_upper_left(*size: int) -> CausalBias:
    """A causal mask whose diagonal starts at the first key.

    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    return made(CausalVariant.UPPER_LEFT, size, "causal_upper_left")


def causal_lower_right(*size: int) -> CausalBias:
    """A causal mask whose diagonal ends at the last key.

    >>> causal_lower_right(1, 3)
    tensor([[True, True, True]])
    """
    return made(CausalVariant.LOWER_RIGHT, size, "causal_lower_right")


def made(variant: CausalVariant, size: tuple[int, ...], name: str) -> CausalBias:
    if len(size) != 2:
        raise AssertionError(f"{name} only supports 2D tensors")
    return CausalBias(variant, *size)
