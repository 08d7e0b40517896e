"""How losses are reduced: by name, by PyTorch's number, and by the older pair of flags."""
from __future__ import annotations

import warnings

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]

NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """The number of a reduction.

    >>> get_enum("mean")
    1
    """
    if reduction == "elementwise_mean":
        warnings.warn("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=2)
        return NUMBERS["mean"]
    if reduction not in NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return NUMBERS[reduction]


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the older flags mean.

    >>> legacy_get_string(True, False, emit_warning=False)
    'none'
    """
    size_average, reduce = size_average is None or size_average, reduce is None or reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn("size_average and reduce args will be deprecated, please use "
                      f"reduction='{reduction}' instead.", stacklevel=2)
    return reduction


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of the reduction that the older flags mean.

    >>> legacy_get_enum(False, True, emit_warning=False)
    2
    """
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
