"""Elementwise writes: fill_diagonal_, Python functions applied to elements; and predicates of tensors."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.api import expose
from retrograd.core.dispatch import is_ordinary
from retrograd.core.hooks import hooks
from retrograd.core.lean import natively
from retrograd.core.opdef import defop
from retrograd.core.storage import strides_of
from retrograd.core.tensor import Tensor, bump, wants_grad
from retrograd.ops.memory.resize import write_number
from retrograd.ops.shared.dtype_checks import type_name
from retrograd.ops.shared.families import will_differentiate
from retrograd.ops.views.shape import as_strided


def fill_diagonal_(self: Any, fill_value: Any, wrap: bool) -> Any:
    if self.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    if self.ndim > 2 and len(set(self.shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    array = self.array
    if not (wrap or array.size == 0 or self._view is not None or not is_ordinary(self) or will_differentiate(self)):
        places = natively(as_strided, array, (min(array.shape),), (sum(strides_of(array)),), None)
        if places is not None:
            write_number(np, places, fill_value)
            bump(self)
            return self
    step = sum(self.stride())
    size = min(self.shape)
    offset = self.storage_offset()
    self.as_strided((size,), (step,), offset).fill_(fill_value)
    rows, columns = self.shape[0], self.shape[1]
    if wrap and self.ndim == 2 and rows > columns + 1:
        more = (self.numel() + columns) // (columns + 1) - size
        self.as_strided((more,), (step,), offset + self.stride(0) * (size + 1)).fill_(fill_value)
    return self


defop("fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)", kernel=fill_diagonal_,
      composite=True, out=False, variants="method")


def apply_to_elements(name: str, self: Any, others: Any, function: Any) -> Any:
    for i, t in enumerate(others):
        if not isinstance(t, Tensor):
            which = "other" if len(others) == 1 else "xy"[i]
            raise TypeError(f"{name}(): argument '{which}' (position {i + 1}) must be Tensor, not {type(t).__name__}")
    if wants_grad(self) or any([wants_grad(t) for t in others]):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for t in others:
        if t.dtype is not self.dtype:
            raise TypeError(f"{name}: expected {type_name(self.array.dtype)} for 'other' (got {type_name(t.array.dtype)})")
    arrays = [t.expand(self.shape).array for t in others]
    flat = [function(*values) for values in zip(*[a.reshape(-1).tolist() for a in (self.array, *arrays)], strict=True)]
    self.array[...] = np.asarray(flat).astype(self.array.dtype).reshape(self.array.shape)
    return self


@expose(plain=False)
def apply_(self: Any, callable: Any) -> Any:
    """Replace each element by the result of a Python function of it."""
    return apply_to_elements("apply_", self, (), callable)


@expose(plain=False)
def map_(self: Any, tensor: Any, callable: Any) -> Any:
    """Replace each element by the result of a Python function of it and another tensor's."""
    return apply_to_elements("map_", self, (tensor,), callable)


@expose(plain=False)
def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """Replace each element by the result of a Python function of it and two other tensors'."""
    return apply_to_elements("map2_", self, (x, y), callable)


defop("is_nonzero(Tensor self) -> bool", kernel=bool, composite=True, out=False, traits=("reads_values",))
defop("is_same_size(Tensor self, Tensor other) -> bool", composite=True, out=False,
      kernel=lambda self, other: self.array.shape == other.array.shape if not self._flags and not other._flags else (
          hooks.nested_answers["is_same_size"](self, other) if self.is_nested and other.is_nested else
          tuple(self.shape) == tuple(other.shape)))
defop("_is_all_true(Tensor self) -> Tensor", kernel=lambda self: self.all(), composite=True, out=False)
defop("_is_any_true(Tensor self) -> Tensor", kernel=lambda self: self.any(), composite=True, out=False)
