"""Looking up rows of a table: embedding and embedding_bag."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd.nn.functions.base import overridable


def renormalised(weight: Any, input: Any, max_norm: float, norm_type: float) -> None:
    """Shrink in place the rows that will be used and are longer than `max_norm`."""
    with torch.no_grad():
        torch.embedding_renorm_(weight, input, max_norm, norm_type)


@overridable
def embedding(input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
              scale_grad_by_freq: bool = False, sparse: bool = False) -> Any:
    """The rows of `weight` that `input` names.

    >>> weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding(torch.tensor([1, 0]), weight)
    tensor([[3., 4.],
            [1., 2.]])
    """
    rows = weight.size(0)
    if padding_idx is None:
        padding_idx = -1
    else:
        assert -rows <= padding_idx < rows, "Padding_idx must be within num_embeddings"
        padding_idx %= rows
    if max_norm is not None:
        renormalised(weight, input.contiguous(), max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


@overridable
def embedding_bag(input: Any, weight: Any, offsets: Any = None, max_norm: float | None = None, norm_type: float = 2,
                  scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, per_sample_weights: Any = None,
                  include_last_offset: bool = False, padding_idx: int | None = None) -> Any:
    """Sums, means or maxima of bags of rows of `weight`, without making the rows.

    >>> weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> embedding_bag(torch.tensor([1, 0, 1]), weight, torch.tensor([0, 2]), mode="sum")
    tensor([[4., 6.],
            [3., 4.]])
    """
    if weight.dtype == torch.long and input.is_floating_point():
        warnings.warn("Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
                      "deprecated, and should now be `embedding_bag(input, weight, ...)`.", stacklevel=2)
        weight, input = input, weight
    if per_sample_weights is not None and input.size() != per_sample_weights.size():
        raise ValueError(f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have "
                         f"the same shape as the input ({input.shape})")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             f"sequences. However, found offsets of type {type(offsets)}")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype)
        input = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    elif input.dim() == 1:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    if mode == "max" and sparse:
        raise ValueError("max mode does not support sparse weights")
    if max_norm is not None:
        renormalised(weight, input, max_norm, norm_type)
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                  f"mode='sum' (got mode='{mode}'). Please open a feature request on GitHub.")
    return torch.embedding_bag(weight, input, offsets, scale_grad_by_freq, ("sum", "mean", "max").index(mode), sparse,
                               per_sample_weights, include_last_offset, padding_idx)[0]
