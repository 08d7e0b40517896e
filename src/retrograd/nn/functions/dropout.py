"""Dropout as functions."""
from __future__ import annotations

import warnings
from typing import Any

import retrograd as torch
from retrograd.nn.functions.base import overridable


def check(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@overridable
def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Set each element to zero with probability `p` and scale the rest by 1 / (1 - p), in training.

    >>> import retrograd as torch
    >>> set(torch.nn.functional.dropout(torch.ones(100), p=0.5).tolist()) <= {0.0, 2.0}
    True
    >>> torch.nn.functional.dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    check(p)
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


@overridable
def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout for self-normalizing networks: it keeps mean and variance.

    >>> import retrograd as torch
    >>> torch.nn.functional.alpha_dropout(torch.ones(100), training=True).unique().numel() <= 2
    True
    """
    check(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


@overridable
def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Drop whole channels of (N, C, L) or (C, L) inputs.

    >>> import retrograd as torch
    >>> all(channel.unique().numel() == 1 for channel in torch.nn.functional.dropout1d(torch.ones(8, 3)))
    True
    """
    check(p)
    rank = input.dim()
    if rank not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {rank}D input. Note that dropout1d exists to "
                           "provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an "
                           "optional batch dimension (i.e. 2D or 3D inputs).")
    return drop_channels(input, p, training, inplace, batched=rank == 3)


@overridable
def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Drop whole channels of (N, C, H, W) inputs.

    >>> import retrograd as torch
    >>> set(torch.nn.functional.dropout2d(torch.ones(1, 16, 2, 2)).sum((2, 3)).flatten().tolist()) <= {0.0, 8.0}
    True
    """
    check(p)
    rank = input.dim()
    if rank not in (3, 4):
        warn_rank("dropout2d", rank, 2, "3D or 4D")
    if rank == 3:
        warnings.warn("dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is "
                      "desired - input is interpreted as shape (N, C, L), where C is the channel dim. This behavior will "
                      "change in a future release to interpret the input as one without a batch dimension, i.e. shape (C, H, "
                      "W). To maintain the 1D channel-wise dropout behavior, please switch to using dropout1d "
                      "instead.", stacklevel=3)
    return feature_dropout(input, p, training, inplace)


@overridable
def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Drop whole channels of (N, C, D, H, W) or (C, D, H, W) inputs.

    >>> import retrograd as torch
    >>> torch.nn.functional.dropout3d(torch.ones(1, 2, 1, 1, 1), p=1.0).flatten()
    tensor([0., 0.])
    """
    check(p)
    rank = input.dim()
    if rank not in (4, 5):
        warn_rank("dropout3d", rank, 3, "4D or 5D")
    return drop_channels(input, p, training, inplace, batched=rank == 5)


def drop_channels(input: Any, p: float, training: bool, inplace: bool, batched: bool) -> Any:
    """Drop whole channels of a batch, or of a single example."""
    if batched:
        return feature_dropout(input, p, training, inplace)
    made = feature_dropout(input.unsqueeze_(0) if inplace else input.unsqueeze(0), p, training, inplace)
    return made.squeeze_(0) if inplace else made.squeeze(0)


@overridable
def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Alpha dropout of whole channels.

    >>> import retrograd as torch
    >>> kept = torch.nn.functional.feature_alpha_dropout(torch.ones(1, 8, 3), training=True)
    >>> all(channel.unique().numel() == 1 for channel in kept[0])
    True
    """
    check(p)
    return (torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout)(input, p, training)


def feature_dropout(input: Any, p: float, training: bool, inplace: bool) -> Any:
    return (torch.feature_dropout_ if inplace else torch.feature_dropout)(input, p, training)


def warn_rank(name: str, rank: int, spatial: int, wanted: str) -> None:
    warnings.warn(f"{name}: Received a {rank}-D input to {name}, which is deprecated and will result in an error in a future "
                  "release. To retain the behavior and silence this warning, please use dropout instead. Note that "
                  f"{name} exists to provide channel-wise dropout on inputs with {spatial} spatial dimensions, a channel "
                  f"dimension, and an optional batch dimension (i.e. {wanted} inputs).", stacklevel=4)
