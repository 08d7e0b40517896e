"""NAdam: Adam with Nesterov's momentum."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_betas, check_eps, check_lr, number


class NAdam(EachParameter):
    """NAdam.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.NAdam([w], lr=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.2202])
    """

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        check("momentum_decay", momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, lr = self.state[param], number(group["lr"])
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["mu_product"] = torch.ones((), dtype=torch.float32)
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
        now, later = (beta1 * (1.0 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (step, step + 1))
        kept["mu_product"] *= now
        product = kept["mu_product"].item()
        average, squares = kept["exp_avg"], kept["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        squares.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        size = squares.div(1 - beta2 ** step).sqrt().add_(group["eps"])
        param.addcdiv_(grad, size, value=-lr * (1.0 - now) / (1.0 - product))
        param.addcdiv_(average, size, value=(-lr * later) / (1.0 - product * later))
