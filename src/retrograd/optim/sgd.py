"""Stochastic gradient descent."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import Optimizer, check, check_lr, loss_of, number


class SGD(Optimizer):
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

    def __init__(self, params: Any, lr: Any = 1e-3, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
                 nesterov: bool = False, *, maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        check_lr(lr)
        check("momentum", momentum)
        check("weight_decay", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize, foreach=foreach, differentiable=differentiable,
                                      fused=fused))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False),
                                ("fused", False)):
                group.setdefault(name, value)

    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        loss = loss_of(closure)
        for group in self.param_groups:
            momentum, dampening, nesterov = group["momentum"], group["dampening"], group["nesterov"]
            with torch.set_grad_enabled(group["differentiable"]):
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    grad = -param.grad if group["maximize"] else param.grad
                    if group["weight_decay"] != 0:
                        grad = grad.add(param, alpha=group["weight_decay"])
                    if momentum != 0:
                        buffer = self.state[param].get("momentum_buffer")
                        if buffer is None:
                            buffer = self.state[param]["momentum_buffer"] = grad.detach().clone()
                        else:
                            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
                        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
                    param.add_(grad, alpha=-number(group["lr"]))
        return loss
