"""Which kernels attention may use, and masks it knows by name.

There is one kernel here, which computes what the "math" one of PyTorch does; the choice is kept and read back.
"""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The kernels that PyTorch knows.

    >>> SDPBackend.MATH.value
    0
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


ORDER = (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH,
         SDPBackend.OVERRIDEABLE)


class Chosen:
    """The kernels that are allowed now, the preferred one first."""

    backends: list[SDPBackend] = list(ORDER)


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    """The kernels that are allowed now.

    >>> SDPBackend.MATH in _cur_sdpa_kernel_backends()
    True
    """
    return list(Chosen.backends) if with_priority else [backend for backend in ORDER if backend in Chosen.backends]


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[dict[Any, Any]]:
    """Allow only some kernels for scaled_dot_product_attention inside the block.

    >>> import retrograd as torch
    >>> x = torch.ones(1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 2, 4])
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError("Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                             f"{type(backends).__name__}")
    before = Chosen.backends
    Chosen.backends = list(dict.fromkeys([backends] if isinstance(backends, SDPBackend) else backends))
    try:
        yield {}
    finally:
        Chosen.backends = before
