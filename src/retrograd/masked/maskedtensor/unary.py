"""Ops of one masked tensor: the op of its elements, under the same mask."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.masked.maskedtensor.sparse import on_values


def apply_unary(func: Any, args: Any, kwargs: Any) -> Any:
    """The op of the elements; in place, the tensor itself with new elements."""
    self = args[0]
    if kwargs:
        raise ValueError("MaskedTensor unary ops require that len(kwargs) == 0. If you need support for this, please open an "
                         "issue on Github.")
    if any([isinstance(other, torch.Tensor) for other in args[1:]]):
        raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    if self.is_sparse:
        return type(self)._wrap(on_values(func, self._masked_data, (self._masked_data, *args[1:])), self._masked_mask)
    if func._schema.is_mutable:
        func(self._masked_data, *args[1:])
        return self
    return type(self)._wrap(func(self._masked_data, *args[1:]), self._masked_mask)
