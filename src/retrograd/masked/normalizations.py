"""Operations along a dimension, over the elements that a mask keeps, whose result has the shape of the input."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.masks import filled, highest, lowest, sorted_dims
from retrograd.masked.reductions import norm


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running sums of the elements that the mask keeps.

    >>> import retrograd as torch
    >>> torch.masked.cumsum(torch.tensor([1, 2, 4]), 0, mask=torch.tensor([True, False, True]))
    tensor([1, 1, 5])
    """
    return running("cumsum", input, dim, dtype, mask, 0)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Running products of the elements that the mask keeps.

    >>> import retrograd as torch
    >>> torch.masked.cumprod(torch.tensor([2, 3, 4]), 0, mask=torch.tensor([True, False, True]))
    tensor([2, 2, 8])
    """
    return running("cumprod", input, dim, dtype, mask, 1)


def running(name: str, input: Any, dim: int, dtype: Any, mask: Any, neutral: int) -> Any:
    """The function `name` along a dimension, with `neutral` in the place of what the mask leaves out."""
    dtype = dtype or input.dtype
    return getattr(torch, name)(filled(name, input, mask, neutral), sorted_dims(dim, input.ndim)[0], dtype=dtype).to(dtype)


def without(operation: str, input: Any, mask: Any, reduction: str, dim: int) -> tuple[Any, int]:
    """The input with masked elements where the reduction never finds them, and the dimension counted from the front."""
    filling = None if mask is None else (lowest if reduction == "amax" else highest)(reduction, input.dtype)
    return filled(operation, input, mask, filling), sorted_dims(dim, input.ndim)[0]


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Softmax over the elements that the mask keeps; the others get 0.

    >>> import retrograd as torch
    >>> torch.masked.softmax(torch.tensor([1.0, 9.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    values, dim = without("softmax", input, mask, "amax", dim)
    return torch.nn.functional.softmax(values, dim, dtype=dtype or input.dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of `softmax`; masked elements get -inf.

    >>> import retrograd as torch
    >>> torch.masked.log_softmax(torch.tensor([1.0, 9.0]), 0, mask=torch.tensor([True, False]))
    tensor([0., -inf])
    """
    values, dim = without("log_softmax", input, mask, "amax", dim)
    return torch.nn.functional.log_softmax(values, dim, dtype=dtype or input.dtype)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
    """Softmax of the negative elements that the mask keeps; the others get 0.

    >>> import retrograd as torch
    >>> torch.masked.softmin(torch.tensor([1.0, -9.0, 1.0]), 0, mask=torch.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    values, dim = without("softmin", input, mask, "amin", dim)
    return torch.nn.functional.softmin(values, dim, dtype=dtype or input.dtype)


def normalize(input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None) -> Any:
    """The elements that the mask keeps, divided by their norm; the others get 0.

    >>> import retrograd as torch
    >>> torch.masked.normalize(torch.tensor([3.0, 9.0, 4.0]), 2, 0, mask=torch.tensor([True, False, True]))
    tensor([0.6000, 0.0000, 0.8000])
    """
    values = filled("normalize", input, mask, 0)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype or input.dtype, mask=mask)
    return torch.divide(values, torch.maximum(length, length.new_full([], eps)))


def logaddexp(input: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None) -> Any:
    """The logarithm of the sum of exponentials of two tensors, each with its own mask.

    >>> import retrograd as torch
    >>> kept = torch.tensor([True, False])
    >>> torch.masked.logaddexp(torch.tensor([1.0, 2.0]), torch.tensor([-900.0, 3.0]), input_mask=kept, other_mask=kept)
    tensor([1., -inf])
    """
    one, two = (filled("logaddexp", tensor, mask, None if mask is None else lowest("logaddexp", tensor.dtype))
                for tensor, mask in ((input, input_mask), (other, other_mask)))
    return torch.logaddexp(one, two).to(dtype or input.dtype)
