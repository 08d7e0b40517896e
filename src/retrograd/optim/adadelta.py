"""Adadelta: steps scaled by the ratio of running averages of squared steps and squared gradients."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_eps, check_lr, number


class Adadelta(EachParameter):
    """Adadelta.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adadelta([w], lr=1.0)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.9936])
    """

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_eps(eps)
        check("weight_decay", weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, rho, eps = self.state[param], group["rho"], group["eps"]
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["square_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            kept["acc_delta"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        kept["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        squares, steps = kept["square_avg"], kept["acc_delta"]
        squares.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = steps.add(eps).sqrt_().div_(squares.add(eps).sqrt_()).mul_(grad)
        steps.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-number(group["lr"]))
