"""ASGD: gradient descent that also averages the parameters."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_lr, number


class ASGD(EachParameter):
    """Averaged gradient descent; the averages are `state[param]['ax']`.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.6400])
    """

    def __init__(self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        check_lr(lr)
        check("weight_decay", weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, lr, lambd = self.state[param], number(group["lr"]), group["lambd"]
        if not kept:
            kept["step"] = torch.zeros((), dtype=torch.float32)
            kept["eta"] = torch.as_tensor(lr, dtype=torch.float32).clone()
            kept["mu"] = torch.ones((), dtype=torch.float32)
            kept["ax"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        kept["step"] += 1
        eta, step = kept["eta"].item(), kept["step"].item()
        param.mul_(1 - lambd * eta)
        param.add_(grad, alpha=-eta)
        if kept["mu"].item() != 1:
            kept["ax"].add_(param.sub(kept["ax"]).mul_(kept["mu"].item()))
        else:
            kept["ax"].copy_(param)
        kept["eta"].copy_(torch.as_tensor(lr / ((1 + lambd * lr * step) ** group["alpha"])))
        kept["mu"].copy_(torch.as_tensor(1 / max(1, step - group["t0"])))
