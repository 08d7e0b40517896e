"""Adamax: Adam with the largest recent gradient in the place of the average of squares."""
from __future__ import annotations

from typing import Any

from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_ratio_, advance, average_, count, decay_, keep_largest_, zeros

__all__ = ["Adamax", "adamax"]


class Adamax(Rule):
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
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                         differentiable=differentiable, capturable=capturable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), exp_avg=zeros(param), exp_inf=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), average, largest = group["betas"], state["exp_avg"], state["exp_inf"]
        step = advance(state)
        grad = decay_(param, grad, group)
        average_(average, grad, beta1)
        keep_largest_(largest.mul_(beta2), grad.abs().add_(group["eps"]))
        add_ratio_(param, average, largest, -group["lr"] / (1 - beta1 ** step))


def adamax(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_infs: list[Any], state_steps: list[Any],
           foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
           has_complex: bool = False, *, eps: float, beta1: float, beta2: float, lr: float, weight_decay: float) -> None:
    """One step of Adamax for lists of tensors."""
    step_lists(Adamax, params, grads, dict(step=state_steps, exp_avg=exp_avgs, exp_inf=exp_infs),
               dict(lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                    differentiable=differentiable))
