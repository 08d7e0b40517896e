"""ExpandedWeight: a weight whose functions leave a gradient for every example in `grad_sample` of the weight it stands for."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch

HANDLED_FUNCTIONS: dict[Any, Callable[..., Any]] = {}


def implements_per_sample_grads(*functions: Any) -> Callable[[Any], Any]:
    """A decorator for what is done with functions that are given expanded weights: it takes the function and its arguments."""
    def register(rule: Any) -> Any:
        for f in functions:
            HANDLED_FUNCTIONS[f] = rule
        return rule
    return register


class ExpandedWeight(torch.Tensor):
    """Stands for a weight in a forward pass over `batch_size` examples.

    >>> weight = torch.ones(1, 2, requires_grad=True)
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.nn.functional.linear(x, ExpandedWeight(weight, 2, "sum")).sum().backward()
    >>> weight.grad is None, weight.grad_sample.tolist()
    (True, [[[1.0, 2.0]], [[3.0, 4.0]]])
    """

    orig_weight: Any
    batch_size: int
    loss_reduction: str
    batch_first: bool
    allow_smaller_batches: bool

    def __new__(cls, orig_weight: Any, batch_size: int, loss_reduction: str) -> ExpandedWeight:
        if not isinstance(orig_weight, torch.Tensor):
            raise RuntimeError(f"Can only make Expanded Weights of Tensors, got {type(orig_weight).__name__}")
        if not orig_weight.requires_grad:
            raise RuntimeError("Can only build ExpandedWeights objects of tensors that requires_grad")
        made: ExpandedWeight = torch.Tensor._make_subclass(cls, orig_weight, True)
        return made

    def __init__(self, orig_weight: Any, batch_size: int, loss_reduction: str) -> None:
        self.orig_weight, self.batch_size, self.loss_reduction = orig_weight, batch_size, loss_reduction
        self.batch_first, self.allow_smaller_batches = True, False

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rule = HANDLED_FUNCTIONS.get(func)
        if rule is None:
            raise RuntimeError(f"Expanded Weights encountered but cannot handle function {func.__name__}")
        return rule(func, args, kwargs or {})

    @property
    def dtype(self) -> Any:     # type: ignore[override]
        return self.orig_weight.dtype

    @property
    def data(self) -> Any:      # type: ignore[override]
        return self.orig_weight.data

    @property
    def shape(self) -> Any:     # type: ignore[override]
        return self.orig_weight.shape

    @property
    def device(self) -> Any:    # type: ignore[override]
        return self.orig_weight.device

    @property
    def is_cuda(self) -> Any:   # type: ignore[override]
        return self.orig_weight.is_cuda

    def data_ptr(self) -> Any:
        return self.orig_weight.data_ptr()

    def get_device(self) -> Any:
        return self.orig_weight.get_device()

    def set_allow_smaller_batches(self, is_allow_smaller_batches: bool) -> None:
        self.allow_smaller_batches = is_allow_smaller_batches

    def set_batch_first(self, is_batch_first: bool = True) -> None:
        self.batch_first = is_batch_first
