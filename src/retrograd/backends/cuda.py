"""Settings of the CUDA back end, which is not built in: they can be set and read, and change nothing."""
from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.nn.attention import Chosen, SDPBackend, sdpa_kernel


def is_built() -> bool:
    """Whether CUDA support was compiled in.

    >>> is_built()
    False
    """
    return False


class cuBLASModule:
    """Settings of matrix products."""

    allow_tf32 = False
    fp32_precision = "none"
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = cuBLASModule()


# ---- which kernels attention may use
def allow(backend: Any, enabled: bool) -> None:
    """Allow or forbid a kernel of attention."""
    kept = [other for other in Chosen.backends if other is not backend]
    Chosen.backends = [*kept, backend] if enabled else kept


def enable_flash_sdp(enabled: bool) -> None:
    """Allow or forbid the flash kernel.

    >>> enable_flash_sdp(False)
    >>> flash_sdp_enabled()
    False
    >>> enable_flash_sdp(True)
    """
    allow(SDPBackend.FLASH_ATTENTION, enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Allow or forbid the memory-efficient kernel."""
    allow(SDPBackend.EFFICIENT_ATTENTION, enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Allow or forbid the kernel that follows the formula."""
    allow(SDPBackend.MATH, enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Allow or forbid cuDNN's kernel."""
    allow(SDPBackend.CUDNN_ATTENTION, enabled)


def flash_sdp_enabled() -> bool:
    """Whether the flash kernel is allowed."""
    return SDPBackend.FLASH_ATTENTION in Chosen.backends


def mem_efficient_sdp_enabled() -> bool:
    """Whether the memory-efficient kernel is allowed."""
    return SDPBackend.EFFICIENT_ATTENTION in Chosen.backends


def math_sdp_enabled() -> bool:
    """Whether the kernel that follows the formula is allowed."""
    return SDPBackend.MATH in Chosen.backends


def cudnn_sdp_enabled() -> bool:
    """Whether cuDNN's kernel is allowed."""
    return SDPBackend.CUDNN_ATTENTION in Chosen.backends


@contextmanager
def sdp_kernel(enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True,
               enable_cudnn: bool = True) -> Iterator[dict[Any, Any]]:
    """Allow only some kernels for attention inside the block; the older form of `torch.nn.attention.sdpa_kernel`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     with sdp_kernel(enable_flash=False):
    ...         flash_sdp_enabled()
    False
    """
    warnings.warn("`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. "
                  "Please see `torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
                  FutureWarning, stacklevel=3)
    given = {SDPBackend.FLASH_ATTENTION: enable_flash, SDPBackend.EFFICIENT_ATTENTION: enable_mem_efficient,
             SDPBackend.MATH: enable_math, SDPBackend.CUDNN_ATTENTION: enable_cudnn}
    with sdpa_kernel([backend for backend, enabled in given.items() if enabled]) as context:
        yield context


def is_flash_attention_available() -> bool:
    """Whether the flash kernel was built: no.

    >>> is_flash_attention_available()
    False
    """
    return False
