"""What the two forms of weight norm, and the two of spectral norm, share."""
from __future__ import annotations

from typing import Any

from retrograd import norm_except_dim


def normalized_weight(v: Any, g: Any, dim: int) -> Any:
    """The direction of `v` with the lengths `g` along `dim`."""
    return v * (g / norm_except_dim(v, 2, dim))


def as_matrix(weight: Any, dim: int) -> Any:
    """The weight with `dim` first and all other dimensions made one."""
    if weight.ndim <= 1:
        raise AssertionError(f"Expected weight to have more than 1 dimension, got {weight.ndim}")
    return weight.movedim(dim, 0).flatten(1) if dim != 0 else weight.flatten(1)


def check_iterations(count: int) -> None:
    if count <= 0:
        raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={count}")
