"""`Variable`, the old name of Tensor: calling it makes a tensor, and every tensor is an instance of it."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from retrograd.autograd import engine
from retrograd.core.dtypes import get_default_dtype
from retrograd.core.hooks import hooks
from retrograd.core.tensor import Tensor, new_tensor

__all__ = ["Variable", "VariableMeta"]


class VariableMeta(type):
    """Makes `isinstance(tensor, Variable)` true.

    >>> import retrograd as torch
    >>> isinstance(torch.ones(1), Variable), isinstance(1.0, Variable)
    (True, False)
    """

    def __instancecheck__(cls, other: Any) -> bool:
        return isinstance(other, Tensor)


class ExecutionEngine:
    """The engine as programs reach it, through `Variable._execution_engine`."""

    def queue_callback(self, callback: Any) -> None:
        """Call `callback` when the backward pass that is running has finished."""
        engine.queue_callback(callback)

    def is_checkpoint_valid(self) -> bool:
        """Whether the backward pass that is running (if any) computes all gradients, not just some."""
        task = engine.current_task()
        return task is None or task.needed is None


class Variable(metaclass=VariableMeta):
    """A tensor on the memory of `data`, as `Variable(data)` made it before tensors could require grad.

    >>> import retrograd as torch
    >>> Variable(torch.tensor([1.0]), requires_grad=True)
    tensor([1.], requires_grad=True)
    >>> isinstance(torch.tensor([1.0]), Variable)
    True
    """

    _execution_engine = ExecutionEngine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if volatile:
            warnings.warn("volatile was removed and now has no effect. Use `with torch.no_grad():` instead.", UserWarning,
                          stacklevel=2)
        if data is None:
            made = new_tensor(np.empty(0, get_default_dtype().numpy))
        elif isinstance(data, Tensor):
            made = hooks.detach(data)
        else:
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if requires_grad and made.dtype.category < 2:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        made._requires = bool(requires_grad)
        return made
