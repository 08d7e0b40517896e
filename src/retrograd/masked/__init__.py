"""Reductions and normalizations that leave out masked elements: `retrograd.masked`, as `torch.masked`."""
from __future__ import annotations

from retrograd.masked.maskedtensor import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor
from retrograd.masked.normalizations import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from retrograd.masked.reductions import (
    amax,
    amin,
    argmax,
    argmin,
    logsumexp,
    mean,
    median,
    norm,
    prod,
    std,
    sum,
    var,
)

__all__ = ["MaskedTensor", "amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum", "is_masked_tensor",
           "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean", "median", "norm",
           "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]
