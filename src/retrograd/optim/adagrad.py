"""Adagrad: steps scaled by the sum of all squared gradients so far."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import Optimizer, check, check_lr, loss_of, number


class Adagrad(Optimizer):
    """Adagrad.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.5)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.2764])
    """

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False,
                 differentiable: bool = False, fused: bool | None = None) -> None:
        check_lr(lr)
        check("lr_decay", lr_decay)
        check("weight_decay", weight_decay)
        check("initial_accumulator_value", initial_accumulator_value)
        if not eps >= 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            for param in group["params"]:
                start = complex(initial_accumulator_value, initial_accumulator_value) if param.is_complex() else (
                    initial_accumulator_value)
                self.state[param] = {"step": torch.tensor(0.0, dtype=torch.float32),
                                     "sum": torch.full_like(param, start, memory_format=torch.preserve_format)}

    def step(self, closure: Any = None) -> Any:
        """Take one step."""
        loss = loss_of(closure)
        for group in self.param_groups:
            with torch.set_grad_enabled(group["differentiable"]):
                for param in group["params"]:
                    if param.grad is None:
                        continue
                    kept = self.state[param]
                    grad = -param.grad if group["maximize"] else param.grad
                    kept["step"] += 1
                    if group["weight_decay"] != 0:
                        grad = grad.add(param, alpha=group["weight_decay"])
                    rate = number(group["lr"]) / (1 + (kept["step"].item() - 1) * group["lr_decay"])
                    kept["sum"].addcmul_(grad, grad, value=1)
                    param.addcdiv_(grad, kept["sum"].sqrt().add_(group["eps"]), value=-rate)
        return loss
