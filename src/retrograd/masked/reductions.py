"""Reductions over the elements that a mask keeps."""
from __future__ import annotations

import math
from typing import Any

import retrograd as torch
from retrograd.masked.masks import filled, fitting_mask, highest, lowest, sorted_dims
from retrograd.masked.sparse import reduce_sparse


def widened(dtype: Any) -> Any:
    """The dtype in which sums and products of a dtype are formed: int64 for integers and bools."""
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def sum(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The sum of the elements that the mask keeps; 0 where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.sum(torch.tensor([1, 2, 4]), mask=torch.tensor([True, False, True]))
    tensor(5)
    """
    if input.layout != torch.strided:
        return reduce_sparse("sum", input, dim, keepdim, dtype or widened(input.dtype), mask)
    dims = sorted_dims(dim, input.ndim)
    return torch.sum(filled("sum", input, mask, 0), dims, bool(keepdim), dtype=dtype or widened(input.dtype))


def prod(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The product of the elements that the mask keeps; 1 where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.prod(torch.tensor([2, 3, 4]), mask=torch.tensor([True, False, True]))
    tensor(8)
    """
    if input.layout != torch.strided:
        return reduce_sparse("prod", input, dim, keepdim, dtype or widened(input.dtype), mask)
    result = filled("prod", input, mask, 1).to(dtype or widened(input.dtype))
    for d in reversed(sorted_dims(dim, input.ndim)):
        result = result.prod(d, bool(keepdim))
    return result


def amax(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The largest element that the mask keeps; the dtype's lowest value where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.amax(torch.tensor([1, 9, 4]), mask=torch.tensor([True, False, True]))
    tensor(4)
    """
    if input.layout != torch.strided:
        return reduce_sparse("amax", input, dim, keepdim, dtype, mask)
    value = None if mask is None else lowest("amax", input.dtype)
    dims = sorted_dims(dim, input.ndim)
    return torch.amax(filled("amax", input, mask, value), dims, bool(keepdim)).to(dtype or input.dtype)


def amin(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The smallest element that the mask keeps; the dtype's highest value where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.amin(torch.tensor([3, 1, 4]), mask=torch.tensor([True, False, True]))
    tensor(3)
    """
    if input.layout != torch.strided:
        return reduce_sparse("amin", input, dim, keepdim, dtype, mask)
    value = None if mask is None else highest("amin", input.dtype)
    dims = sorted_dims(dim, input.ndim)
    return torch.amin(filled("amin", input, mask, value), dims, bool(keepdim)).to(dtype or input.dtype)


def argmax(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The place of the largest element that the mask keeps, in the dtype of the input unless `dtype` says otherwise.

    >>> import retrograd as torch
    >>> torch.masked.argmax(torch.tensor([1, 9, 4]), mask=torch.tensor([True, False, True]))
    tensor(2)
    """
    value = None if mask is None else lowest("argmax", input.dtype)
    return torch.argmax(filled("argmax", input, mask, value), dim, bool(keepdim)).to(dtype or input.dtype)


def argmin(input: Any, dim: int | None = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The place of the smallest element that the mask keeps, in the dtype of the input unless `dtype` says otherwise.

    >>> import retrograd as torch
    >>> torch.masked.argmin(torch.tensor([3, 1, 4]), mask=torch.tensor([True, False, True]))
    tensor(0)
    """
    value = None if mask is None else highest("argmin", input.dtype)
    return torch.argmin(filled("argmin", input, mask, value), dim, bool(keepdim)).to(dtype or input.dtype)


def kept_count(input: Any, mask: Any, dim: Any, keepdim: bool) -> Any:
    kept = torch.ones(input.shape, dtype=torch.int64, device=input.device) if mask is None else fitting_mask(input, mask)
    return kept.sum(sorted_dims(dim, input.ndim), keepdim)


def mean(input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The mean of the elements that the mask keeps; nan where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.mean(torch.tensor([1.0, 9.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(2.5000)
    """
    wanted = input.dtype if dtype is None else dtype
    if not (wanted.is_floating_point or wanted.is_complex):
        source = "Input" if dtype is None else "Optional"
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex "
                         f"dtype. Got: {wanted}")
    if input.layout != torch.strided:
        return reduce_sparse("mean", input, dim, keepdim, wanted, mask)
    count = kept_count(input, mask, dim, bool(keepdim))
    return sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask) / count


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The median of the elements that the mask keeps, the lower one of two; nan where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.median(torch.tensor([5.0, 1.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(3.)
    """
    dim = sorted_dims(dim, input.ndim)[0]
    floating = input.is_floating_point()
    values = filled("median", input if floating else input.to(torch.float), mask, math.nan)
    output = torch.nanmedian(values, dim, keepdim).values
    if floating:
        return output
    if output.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return output.to(dtype or input.dtype)


def logsumexp(input: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    """The logarithm of the sum of exponentials of the elements that the mask keeps; -inf where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.logsumexp(torch.tensor([1.0, 9.0]), 0, mask=torch.tensor([True, False]))
    tensor(1.)
    """
    value = -math.inf if input.is_complex() or mask is None else lowest("logsumexp", input.dtype)
    values = filled("logsumexp", input, mask, value)
    return torch.logsumexp(values, sorted_dims(dim, input.ndim), keepdim=keepdim).to(dtype or input.dtype)


def norm(input: Any, ord: float | None = 2.0, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None,
         mask: Any = None) -> Any:
    """The vector norm of the elements that the mask keeps.

    >>> import retrograd as torch
    >>> torch.masked.norm(torch.tensor([3.0, 9.0, 4.0]), 2, mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    values = filled("norm", input, mask, math.inf if ord == -math.inf else 0)
    dims = sorted_dims(dim, input.ndim)
    return torch.linalg.vector_norm(values, 2.0 if ord is None else ord, dims, bool(keepdim), dtype=dtype or input.dtype)


def var(input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The variance of the elements that the mask keeps; nan where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.var(torch.tensor([1.0, 9.0, 3.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    less = float(unbiased is not False) if correction is None else float(correction)
    wanted = dtype or (input.dtype if input.is_floating_point() or input.is_complex() else torch.float32)
    inner = wanted if wanted.is_floating_point or wanted.is_complex else torch.float32
    total = sum(input, dim, keepdim=True, dtype=wanted, mask=mask)
    distance = input - total / kept_count(input, mask, dim, True)
    squares = sum(distance * distance.conj(), dim, keepdim=keepdim, dtype=inner, mask=mask)
    count = kept_count(input, mask, dim, bool(keepdim))
    if less:
        count = torch.clamp(count.to(inner.to_real()) - less, min=0)
    return (squares / count).to(wanted)


def std(input: Any, dim: Any = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool | None = False, dtype: Any = None, mask: Any = None) -> Any:
    """The standard deviation of the elements that the mask keeps; nan where it keeps none.

    >>> import retrograd as torch
    >>> torch.masked.std(torch.tensor([1.0, 9.0, 3.0]), unbiased=False, mask=torch.tensor([True, False, True]))
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()
