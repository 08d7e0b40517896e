"""Semi-structured (2:4) sparse tensors: PyTorch has them on CUDA alone, and so every way to make one refuses here too."""
from __future__ import annotations

from typing import Any

import retrograd as torch

__all__ = ["SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS",
           "to_sparse_semi_structured"]


class SparseSemiStructuredTensor(torch.Tensor):
    """A matrix with two zeros among four neighbours; to be named in `isinstance` and subclassed."""

    _FORCE_CUTLASS = False
    _FUSE_TRANSPOSE = False
    _PROTOTYPE_WARNING_SHOWN = False

    @staticmethod
    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Error: semi-structured sparse tensors need a CUDA device, and there is none")

    @classmethod
    def from_dense(cls, original_tensor: Any) -> Any:
        """Refuse a tensor that is not on a CUDA device."""
        raise RuntimeError(f"Error original_tensor.device= {original_tensor.device} is not supported! Only CUDA tensors are "
                           "currently supported.")


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The kind whose products CUTLASS computes."""

    BACKEND = "cutlass"


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The kind whose products cuSPARSELt computes."""

    BACKEND = "cusparselt"


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Compress a matrix on a CUDA device; others are refused.

    >>> to_sparse_semi_structured(torch.ones(32, 32))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: Error original_tensor.device= cpu is not supported! Only CUDA tensors are currently supported.
    """
    return SparseSemiStructuredTensorCUSPARSELT.from_dense(original_tensor)
