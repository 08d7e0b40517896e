"""Whether two tensors, or the masks of two masked ones, are the same; and data and masks of arguments and results."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.core import MaskedTensor, is_masked_tensor

PARTS: dict[Any, tuple[str, ...]] = {torch.sparse_coo: ("values", "indices"),
                                     torch.sparse_csr: ("crow_indices", "col_indices", "values")}


def tensors_match(a: Any, b: Any, exact: bool = True, rtol: float = 1e-05, atol: float = 1e-08) -> bool:
    """Whether two tensors of one layout are equal, or close; other dtypes are converted.

    >>> import retrograd as torch
    >>> tensors_match(torch.ones(2), torch.ones(2).double())
    True
    """
    if is_masked_tensor(a) or is_masked_tensor(b):
        raise ValueError("Neither `a` nor `b` can be a MaskedTensor.")
    if a.layout != b.layout:
        raise ValueError(f"`a` and `b` must have the same layout. Got {a.layout} and {b.layout}")
    b = b if a.dtype == b.dtype else b.to(a.dtype)
    if a.layout in PARTS:
        return all([tensors_match(getattr(a, part)(), getattr(b, part)(), exact) for part in PARTS[a.layout]])
    return a.dim() == b.dim() and (bool(torch.eq(a, b).all()) if exact else torch.allclose(a, b, rtol=rtol, atol=atol))


def masks_match(a: Any, b: Any) -> bool:
    """Whether two masked tensors have the same mask; a plain one goes with any.

    >>> import retrograd as torch
    >>> masks_match(torch.ones(2), torch.zeros(3))
    True
    """
    return not (is_masked_tensor(a) and is_masked_tensor(b)) or tensors_match(a.get_mask(), b.get_mask())


def map_masked(args: Any, kwargs: Any, function: Callable[[Any], Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments with `function` of every masked tensor in its place.

    >>> map_masked([1, (2,)], None, id)
    ([1, (2,)], {})
    """
    def mapped(value: Any) -> Any:
        if is_masked_tensor(value):
            return function(value)
        return type(value)([mapped(item) for item in value]) if type(value) in (list, tuple) else value

    return [mapped(value) for value in args], {name: mapped(value) for name, value in (kwargs or {}).items()}


def wrap_result(data: Any, mask: Any) -> Any:
    """Masked tensors of the results of an operation on data and on masks.

    >>> wrap_result(1, True)
    NotImplemented
    """
    if type(data) in (list, tuple):
        return type(data)([wrap_result(d, m) for d, m in zip(data, mask, strict=False)])
    return MaskedTensor(data, mask) if torch.is_tensor(data) else NotImplemented


def data_of(value: Any) -> Any:
    """The data of a masked tensor, or the value itself.

    >>> data_of(1)
    1
    """
    return value.get_data() if is_masked_tensor(value) else value


def mask_of(value: Any) -> Any:
    """The mask of a masked tensor, or None.

    >>> mask_of(1)
    """
    return value.get_mask() if is_masked_tensor(value) else None
