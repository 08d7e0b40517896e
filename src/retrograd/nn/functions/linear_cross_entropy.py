"""Cross entropy of a linear map of the input, whole or in chunks of the batch that need less memory."""
from __future__ import annotations

import math
import warnings
from typing import Any

import retrograd as torch
from retrograd.nn.functions.base import overridable
from retrograd.nn.functions.loss import cross_entropy
from retrograd.utils.checkpoint import checkpoint


@overridable
def linear_cross_entropy(input: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None,
                         reduction: str = "mean", ignore_index: int | None = None, label_smoothing: float = 0.0,
                         options: Any = None) -> Any:
    """`cross_entropy(linear(input, linear_weight, linear_bias), target)`; with `options`, chunk by chunk.

    The logits of a chunk are not kept for backward: they are computed again.

    >>> import retrograd as torch
    >>> x, w, target = torch.ones(2, 3), torch.zeros(4, 3), torch.tensor([0, 1])
    >>> torch.nn.functional.linear_cross_entropy(x, w, target)
    tensor(1.3863)
    """
    check(input, linear_weight, linear_bias)
    classes, extra = linear_weight.shape[0], linear_weight.shape[1:-1]
    if target.shape == (*input.shape[:-1], classes, *extra) and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    settings = {"weight": weight, "ignore_index": ignore_index, "label_smoothing": label_smoothing}
    if options is not None:
        if extra or reduction not in ("mean", "sum", "none") or label_smoothing != 0.0 or target.dtype != torch.int64:
            warnings.warn("linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, "
                          "label_smoothing == 0, target.dtype == int64, out_features == (). Got "
                          f"reduction={reduction!r}, label_smoothing={label_smoothing}, target.dtype={target.dtype}, "
                          f"out_features={tuple(extra)}, tracing=False, linear_bias.shape="
                          f"{None if linear_bias is None else tuple(linear_bias.shape)}.", stacklevel=3)
        else:
            return chunked(input, linear_weight, target, linear_bias, reduction, settings, options)
    if extra:
        linear_weight = linear_weight.reshape(classes * math.prod(extra), -1)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = torch.nn.functional.linear(input, linear_weight, linear_bias).reshape((*input.shape[:-1], classes, *extra))
    return cross_entropy(logits, target, reduction=reduction, **settings)


def check(input: Any, linear_weight: Any, linear_bias: Any) -> None:
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), got "
                           f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    if linear_bias is not None and tuple(linear_bias.shape) != tuple(linear_weight.shape[:-1]):
        raise RuntimeError(f"expected linear_bias shape {tuple(linear_weight.shape[:-1])}, got {tuple(linear_bias.shape)}")
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched "
                           f"input, (N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}")


def chunked(input: Any, linear_weight: Any, target: Any, linear_bias: Any, reduction: str, settings: Any, options: Any) -> Any:
    """The same in chunks of the batch."""
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    batch, features = input.shape
    size = options._adjust(num_batches=batch, in_features=features, num_classes=linear_weight.shape[0], dtype=input.dtype,
                           device=input.device).batch_chunk_size

    def part(x: Any, y: Any) -> Any:
        logits = torch.nn.functional.linear(x, linear_weight, linear_bias)
        return cross_entropy(logits, y, reduction="none" if reduction == "none" else "sum", **settings)

    losses = [checkpoint(part, x, y, use_reentrant=False)
              for x, y in zip(input.split(size), target.split(size), strict=True)] if batch else [part(input, target)]
    if reduction == "none":
        return torch.cat(losses).squeeze(0) if single else torch.cat(losses)
    total = torch.stack(losses).sum()
    if reduction == "sum":
        return total
    counted = target != settings["ignore_index"]
    return total / (counted.sum() if settings["weight"] is None else settings["weight"][target[counted]].sum())
