"""Adamax: Adam with the largest recent gradient in the place of the average of squares."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_betas, check_eps, check_lr, number


class Adamax(EachParameter):
    """Adamax.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adamax([w], lr=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.1312])
    """

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept = self.state[param]
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["exp_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            kept["exp_inf"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        beta1, beta2 = group["betas"]
        kept["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        average, largest = kept["exp_avg"], kept["exp_inf"]
        average.lerp_(grad, 1 - beta1)
        largest.copy_(torch.maximum(largest.mul_(beta2), grad.abs().add_(group["eps"])))
        rate = number(group["lr"]) / (1 - beta1 ** kept["step"].item())
        param.addcdiv_(average, largest, value=-rate)
