"""Settings of the CUDA back end, which is not built in: they can be set and read, and change nothing."""
from __future__ import annotations


def is_built() -> bool:
    """Whether CUDA support was compiled in.

    >>> is_built()
    False
    """
    return False


class cuBLASModule:
    """Settings of matrix products."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = cuBLASModule()
