"""Arithmetic as modules, whose results an observer or a rounding module can take."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import nn
from retrograd.nn import MaxPool2d as MaxPool2d

__all__ = ["FXFloatFunctional", "FloatFunctional"]


class FXFloatFunctional(nn.Module):
    """Arithmetic of tensors as methods of a module.

    >>> FXFloatFunctional().add_relu(torch.tensor([1.0, -3.0]), torch.tensor([1.0, 1.0]))
    tensor([2., 0.])
    """

    def forward(self, x: Any) -> Any:
        raise RuntimeError(f"{type(self).__name__} is not intended to use the 'forward'. Please use the underlying operation")

    def settle(self, result: Any) -> Any:
        return result

    def add(self, x: Any, y: Any) -> Any:
        return self.settle(torch.add(x, y))

    def add_scalar(self, x: Any, y: float) -> Any:
        return torch.add(x, y)

    def mul(self, x: Any, y: Any) -> Any:
        return self.settle(torch.mul(x, y))

    def mul_scalar(self, x: Any, y: float) -> Any:
        return torch.mul(x, y)

    def cat(self, x: Any, dim: int = 0) -> Any:
        return self.settle(torch.cat(x, dim=dim))

    def add_relu(self, x: Any, y: Any) -> Any:
        return self.settle(torch.relu(torch.add(x, y)))

    def matmul(self, x: Any, y: Any) -> Any:
        return self.settle(torch.matmul(x, y))


class FloatFunctional(FXFloatFunctional):
    """The same arithmetic, whose results pass through `activation_post_process`: preparing a model replaces that module.

    >>> FloatFunctional().mul(torch.tensor([2.0]), torch.tensor([3.0]))
    tensor([6.])
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process = nn.Identity()

    def settle(self, result: Any) -> Any:
        return self.activation_post_process(result)
