"""RAdam: Adam that takes plain steps as long as the average of squares is not to be trusted."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_betas, check_eps, check_lr, number


class RAdam(EachParameter):
    """RAdam.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RAdam([w], lr=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([-0.4737])
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      foreach=foreach, capturable=capturable, decoupled_weight_decay=decoupled_weight_decay,
                                      differentiable=differentiable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, lr = self.state[param], number(group["lr"])
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["exp_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            kept["exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        beta1, beta2 = group["betas"]
        kept["step"] += 1
        step = kept["step"].item()
        if group["weight_decay"] != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * group["weight_decay"])
            else:
                grad = grad.add(param, alpha=group["weight_decay"])
        average, squares = kept["exp_avg"], kept["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        squares.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction = 1 - beta2 ** step
        corrected = average / (1 - beta1 ** step)
        most = 2 / (1 - beta2) - 1                      # how many squares the average is worth, in the end and now
        worth = most - 2 * step * (beta2 ** step) / correction
        if worth > 5.0:
            rectified = ((worth - 4) * (worth - 2) * most / ((most - 4) * (most - 2) * worth)) ** 0.5
            adaptive = correction ** 0.5 / squares.sqrt().add_(group["eps"])
            param.add_(corrected * lr * adaptive * rectified, alpha=-1.0)
        else:
            param.add_(corrected * lr, alpha=-1.0)
