"""Adafactor: squared gradients kept as the product of a row and a column, steps relative to the size of parameters."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, advance, count, zeros

__all__ = ["Adafactor", "adafactor"]


class Adafactor(Rule):
    """Adafactor; parameters of two or more dimensions need memory for a row and a column only.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.ones(2, 2))
    >>> optimizer = torch.optim.Adafactor([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """

    _by_lists = False           # each parameter has a rate of its own

    def __init__(self, params: Any, lr: Any = 1e-2, beta2_decay: float = -0.8, eps: tuple[float | None, float] = (None, 1e-3),
                 d: float = 1.0, weight_decay: float = 0.0, *, foreach: bool | None = None, maximize: bool = False) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for fine, name, bound, value in (
                (lr >= 0.0, "Learning rate", ">= 0", lr), (beta2_decay <= 0.0, "beta2_decay", "<= 0", beta2_decay),
                (eps[0] is None or eps[0] >= 0.0, "epsilon1", ">= 0", eps[0]), (eps[1] >= 0.0, "epsilon2", ">= 0", eps[1]),
                (d >= 1.0, "Clipping threshold d", ">= 1", d), (weight_decay >= 0.0, "weight_decay", ">= 0", weight_decay)):
            if not fine:
                raise ValueError(f"{name} should be {bound} but is: {value}")
        super().__init__(params, lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach,
                         maximize=maximize)

    def _check(self, settings: dict[str, Any]) -> None:
        """The constructor has checked them, in words of its own."""

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        grad = param.grad
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = count()
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.shape[-1]))
        else:
            state["variance"] = zeros(grad)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, (eps1, eps2) = group["lr"], group["eps"]
        eps1 = torch.finfo(param.dtype).eps if eps1 is None else eps1
        step = advance(state)
        fresh = step ** group["beta2_decay"]                 # how much the new squares count
        rate = max(eps2, param.norm(2).item() / param.numel() ** 0.5) * min(lr, 1 / step ** 0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            for name, dim in (("row_var", -1), ("col_var", -2)):
                mean = torch.norm(grad, dim=dim, keepdim=True).square_().div_(grad.size(dim))
                state[name].lerp_(mean, fresh)
            rows, columns = state["row_var"], state["col_var"]
            variance = (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad * grad, fresh)
            variance = state["variance"].clone()
        update = variance.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        longer = max(1.0, update.norm(2).item() / (update.numel() ** 0.5 * group["d"]))
        param.add_(update, alpha=-rate / longer)


def adafactor(params: list[Any], grads: list[Any], row_vars: list[Any], col_vars: list[Any], variances: list[Any],
              state_steps: list[Any], foreach: bool | None = None, grad_scale: Any = None, found_inf: Any = None,
              has_complex: bool = False, *, d: float, lr: Any, beta2_decay: float, weight_decay: float, eps1: float,
              eps2: float, maximize: bool) -> None:
    """One step of Adafactor for lists of tensors."""
    step_lists(Adafactor, params, grads, dict(step=state_steps, row_var=row_vars, col_var=col_vars, variance=variances),
               dict(lr=lr, d=d, beta2_decay=beta2_decay, weight_decay=weight_decay, eps=(eps1, eps2), maximize=maximize),
               grad_scale, found_inf)
