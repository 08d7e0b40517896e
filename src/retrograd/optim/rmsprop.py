"""RMSprop: steps scaled by a running average of squared gradients."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_eps, check_lr, number


class RMSprop(EachParameter):
    """RMSprop, with momentum and centring if wanted.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.8329])
    """

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_eps(eps)
        check("momentum", momentum)
        check("weight_decay", weight_decay)
        check("alpha", alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, capturable=capturable, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, alpha = self.state[param], group["alpha"]
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["square_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            if group["momentum"] > 0:
                kept["momentum_buffer"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            if group["centered"]:
                kept["grad_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        kept["step"] += 1
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        kept["square_avg"].mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            kept["grad_avg"].lerp_(grad, 1 - alpha)
            size = kept["square_avg"].addcmul(kept["grad_avg"], kept["grad_avg"], value=-1).sqrt_()
        else:
            size = kept["square_avg"].sqrt()
        size = size.add_(group["eps"])
        lr = number(group["lr"])
        if group["momentum"] > 0:
            kept["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, size)
            param.add_(kept["momentum_buffer"], alpha=-lr)
        else:
            param.addcdiv_(grad, size, value=-lr)
