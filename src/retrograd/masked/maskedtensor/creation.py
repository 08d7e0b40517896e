"""Masked tensors from elements and masks."""
from __future__ import annotations

from typing import Any

from retrograd.masked.maskedtensor.core import Constructor, MaskedTensor

__all__ = ["as_masked_tensor", "masked_tensor"]


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A masked tensor that is a leaf, with copies of the elements and the mask.

    >>> import warnings
    >>> import retrograd as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False])).sum()
    MaskedTensor(  1.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """A masked tensor of the same elements, through which gradients flow back to them."""
    return Constructor.apply(data, mask)
