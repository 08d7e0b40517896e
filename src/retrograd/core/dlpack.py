"""Checks which tensors can be exported through DLPack."""
from __future__ import annotations

from retrograd.core.tensor import FLAG_CONJ, FLAG_META, FLAG_SPARSE, Tensor


def check_exportable(t: Tensor) -> None:
    """Raise for tensors that other libraries would misread."""
    if t._flags & FLAG_SPARSE:
        raise BufferError("Can't export tensors with layout other than torch.strided")
    if t.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if t._flags & FLAG_CONJ:
        raise BufferError("Can't export tensors with the conjugate bit set")
    if t._flags & FLAG_META:
        raise BufferError("Cannot pack tensors on meta")
