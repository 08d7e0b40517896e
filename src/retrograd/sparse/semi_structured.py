"""Semi-structured (2:4) sparse tensors: PyTorch has them on CUDA alone, and so every way to make one refuses here too."""
from __future__ import annotations

from typing import Any, NamedTuple

import retrograd as torch

__all__ = ["SparseSemiStructuredTensor", "SparseSemiStructuredTensorCUSPARSELT", "SparseSemiStructuredTensorCUTLASS",
           "to_sparse_semi_structured"]


class _SEMI_STRUCTURED_SPARSE_CONFIG(NamedTuple):
    """The multiples that the sizes of the sparse and of the dense matrix of a product must be."""

    sparse_min_rows: int
    sparse_min_cols: int
    dense_min_rows: int
    dense_min_cols: int


class SparseSemiStructuredTensor(torch.Tensor):
    """A matrix with two zeros among four neighbours; to be named in `isinstance` and subclassed."""

    _DEFAULT_ALG_ID = 0
    _FORCE_CUTLASS = False
    _FUSE_TRANSPOSE = False
    _PROTOTYPE_WARNING_SHOWN = False

    @staticmethod
    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("Error: semi-structured sparse tensors need a CUDA device, and there is none")

    @classmethod
    def _load_dispatch_table(cls, custom_dispatch_table: Any = None) -> None:
        """No-op: there are no such tensors whose ops could be looked up."""

    @classmethod
    def from_dense(cls, original_tensor: Any) -> Any:
        """Refuse a tensor that is not on a CUDA device."""
        raise RuntimeError(f"Error original_tensor.device= {original_tensor.device} is not supported! Only CUDA tensors are "
                           "currently supported.")


class SparseSemiStructuredTensorCUTLASS(SparseSemiStructuredTensor):
    """The kind whose products CUTLASS computes."""

    BACKEND = "cutlass"
    _DTYPE_SHAPE_CONSTRAINTS = {
        torch.int8: _SEMI_STRUCTURED_SPARSE_CONFIG(16, 128, 16, 16),
        torch.float16: _SEMI_STRUCTURED_SPARSE_CONFIG(32, 64, 8, 8),
        torch.bfloat16: _SEMI_STRUCTURED_SPARSE_CONFIG(32, 64, 8, 8),
        torch.float32: _SEMI_STRUCTURED_SPARSE_CONFIG(32, 32, 4, 4),
    }


class SparseSemiStructuredTensorCUSPARSELT(SparseSemiStructuredTensor):
    """The kind whose products cuSPARSELt computes."""

    BACKEND = "cusparselt"
    _DTYPE_SHAPE_CONSTRAINTS = {
        torch.float8_e4m3fn: _SEMI_STRUCTURED_SPARSE_CONFIG(32, 32, 16, 16),
        torch.int8: _SEMI_STRUCTURED_SPARSE_CONFIG(32, 32, 16, 16),
        torch.float16: _SEMI_STRUCTURED_SPARSE_CONFIG(16, 16, 8, 8),
        torch.bfloat16: _SEMI_STRUCTURED_SPARSE_CONFIG(16, 16, 8, 8),
    }


def to_sparse_semi_structured(original_tensor: Any, transposed: bool = False) -> Any:
    """Compress a matrix on a CUDA device; others are refused.

    >>> to_sparse_semi_structured(torch.ones(32, 32))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    RuntimeError: Error original_tensor.device= cpu is not supported! Only CUDA tensors are currently supported.
    """
    return SparseSemiStructuredTensorCUSPARSELT.from_dense(original_tensor)
