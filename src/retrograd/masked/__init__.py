"""Reductions and normalizations that leave out masked elements: `retrograd.masked`, as `torch.masked`."""
from __future__ import annotations

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

__all__ = ["amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
           "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"]
