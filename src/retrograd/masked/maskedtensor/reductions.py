"""Reductions over the elements that a mask leaves."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.sparse import values_of


def reduce_masked(name: str, self: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, **kwargs: Any) -> Any:
    """A reduction of a masked tensor: it is masked where no element was left."""
    from retrograd.masked.maskedtensor.core import Constructor
    if kwargs:
        raise TypeError(f"{name} of a MaskedTensor takes dim, keepdim and dtype, not {sorted(kwargs)}")
    data, mask = self.get_data(), self.get_mask()
    if self.is_sparse:                   # what is stored is there
        data = values_of(data)
        mask = torch.ones_like(data, dtype=torch.bool)
    if name == "all":
        filled = data.masked_fill(~mask, True)
        result = filled.all() if dim is None else filled.all(dim, keepdim)
    elif name in ("argmin", "argmax"):
        result = getattr(torch.masked, name)(data, dim, mask=mask, keepdim=keepdim)
    elif name == "norm":
        result = torch.masked.norm(data, 2, dim, mask=mask, keepdim=keepdim, dtype=dtype)
    elif name in ("var", "std"):
        result = getattr(torch.masked, name)(data, dim, unbiased=True, mask=mask, keepdim=keepdim, dtype=dtype)
    else:
        result = getattr(torch.masked, name)(data, dim, mask=mask, keepdim=keepdim, dtype=dtype)
    left = mask.any() if dim is None else mask.any(dim, keepdim)
    return Constructor.apply(result, left, False)
