"""Adam and AdamW: steps scaled by running averages of gradients and of their squares."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check, check_betas, check_eps, check_lr, number


class Adam(EachParameter):
    """Adam; with `decoupled_weight_decay` the decay does not go through the averages.

    >>> from retrograd import nn, ones, optim
    >>> w = nn.Parameter(ones(1))
    >>> optimizer = optim.Adam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    """

    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        check_lr(lr)
        check_eps(eps)
        check_betas(betas)
        check("weight_decay", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize,
                                      foreach=foreach, capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay))

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in (("amsgrad", False), ("maximize", False), ("foreach", None), ("capturable", False),
                                ("differentiable", False), ("decoupled_weight_decay", False), ("fused", None)):
                group.setdefault(name, value)
        for kept in self.state.values():
            if kept and not torch.is_tensor(kept["step"]):
                kept["step"] = torch.tensor(float(kept["step"]), dtype=torch.float32)

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept = self.state[param]
        if not kept:
            kept["step"] = torch.tensor(0.0, dtype=torch.float32)
            kept["exp_avg"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            kept["exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            if group["amsgrad"]:
                kept["max_exp_avg_sq"] = torch.zeros_like(param, memory_format=torch.preserve_format)
        beta1, beta2 = (number(beta) for beta in group["betas"])
        lr, decay = number(group["lr"]), group["weight_decay"]
        kept["step"] += 1
        if decay != 0:
            if group["decoupled_weight_decay"]:
                param.mul_(1 - lr * decay)
            else:
                grad = grad.add(param, alpha=decay)
        average, squares = kept["exp_avg"], kept["exp_avg_sq"]
        average.lerp_(grad, 1 - beta1)
        squares.mul_(beta2).addcmul_(grad, grad.conj(), value=1 - beta2)
        step = kept["step"].item()
        correction1, correction2 = 1 - beta1 ** step, 1 - beta2 ** step
        if group["amsgrad"]:
            most = kept["max_exp_avg_sq"]
            torch.maximum(most, squares, out=most)
            squares = most
        denominator = (squares.sqrt() / correction2 ** 0.5).add_(group["eps"])
        param.addcdiv_(average, denominator, value=-(lr / correction1))


class AdamW(Adam):
    """Adam with weight decay that does not go through the averages.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.AdamW([w], lr=0.5, weight_decay=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([-0.0307])
    """

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False, foreach: bool | None = None,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
