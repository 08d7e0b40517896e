"""Stochastic gradient descent."""
from __future__ import annotations

from typing import Any

from retrograd import Tensor
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_, decay_, plus

__all__ = ["SGD", "sgd"]


class SGD(Rule):
    """Gradient descent, with momentum if wanted.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.SGD([w], lr=0.25, momentum=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.])
    """

    _not_negative = None
    _no_sparse = None
    _on_reals = False

    _differentiable_lists = True

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for text, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {text}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                         maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused)

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return bool(group["momentum"] != 0)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        grad = decay_(param, grad, group)
        if momentum != 0:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = plus(grad, buffer, momentum) if group["nesterov"] else buffer
        add_(param, grad, -group["lr"])


def sgd(params: list[Any], d_p_list: list[Any], momentum_buffer_list: list[Any], has_sparse_grad: bool = False,
        foreach: bool | None = None, fused: bool | None = None, grad_scale: Any = None, found_inf: Any = None, *,
        weight_decay: float, momentum: float, lr: float, dampening: float, nesterov: bool, maximize: bool) -> None:
    """One step of gradient descent for lists of tensors; buffers that are None are made, and put into the list."""
    step_lists(SGD, params, d_p_list, dict(momentum_buffer=momentum_buffer_list),
               dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                    maximize=maximize, fused=fused), grad_scale, found_inf)
