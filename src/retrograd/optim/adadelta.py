"""Adadelta: steps scaled by the ratio of running averages of squared steps and squared gradients."""
from __future__ import annotations

from typing import Any

from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_, advance, average_squares_, count, decay_, zeros

__all__ = ["Adadelta", "adadelta"]


class Adadelta(Rule):
    """Adadelta.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adadelta([w], lr=1.0)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.9936])
    """

    def __init__(self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
                 foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
                 differentiable: bool = False) -> None:
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                         foreach=foreach, differentiable=differentiable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), square_avg=zeros(param), acc_delta=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        rho, eps, squares, steps = group["rho"], group["eps"], state["square_avg"], state["acc_delta"]
        advance(state)
        grad = decay_(param, grad, group)
        average_squares_(squares, grad, rho)
        delta = steps.add(eps).sqrt_() / squares.add(eps).sqrt_() * grad
        average_squares_(steps, delta, rho)
        add_(param, delta, -group["lr"])


def adadelta(params: list[Any], grads: list[Any], square_avgs: list[Any], acc_deltas: list[Any], state_steps: list[Any],
             capturable: bool = False, foreach: bool | None = None, differentiable: bool = False, has_complex: bool = False, *,
             lr: float, rho: float, eps: float, weight_decay: float, maximize: bool) -> None:
    """One step of Adadelta for lists of tensors."""
    step_lists(Adadelta, params, grads, dict(step=state_steps, square_avg=square_avgs, acc_delta=acc_deltas),
               dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                    differentiable=differentiable))
