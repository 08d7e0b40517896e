"""RMSprop: steps scaled by a running average of squared gradients."""
from __future__ import annotations

from typing import Any

from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_, add_ratio_, advance, average_, average_squares_, count, decay_, raised, zeros

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(Rule):
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

    _not_negative = ("momentum", "weight_decay", "alpha")

    def __init__(self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
                 momentum: float = 0, centered: bool = False, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        super().__init__(params, lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                         capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), square_avg=zeros(param))
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros(param)
        if group["centered"]:
            state["grad_avg"] = zeros(param)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        squares, alpha, lr = state["square_avg"], group["alpha"], group["lr"]
        advance(state)
        grad = decay_(param, grad, group)
        average_squares_(squares, grad, alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            average_(mean, grad, alpha)
            size = squares.addcmul(mean, mean, value=-1).sqrt_()
        else:
            size = squares.sqrt()
        size = raised(size, group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, size)
            add_(param, buffer, -lr)
        else:
            add_ratio_(param, grad, size, -lr)


def rmsprop(params: list[Any], grads: list[Any], square_avgs: list[Any], grad_avgs: list[Any], momentum_buffer_list: list[Any],
            state_steps: list[Any], foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
            capturable: bool = False, has_complex: bool = False, *, lr: float, alpha: float, eps: float, weight_decay: float,
            momentum: float, centered: bool) -> None:
    """One step of RMSprop for lists of tensors."""
    step_lists(RMSprop, params, grads, dict(step=state_steps, square_avg=square_avgs, grad_avg=grad_avgs,
                                            momentum_buffer=momentum_buffer_list),
               dict(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
                    maximize=maximize, capturable=capturable, differentiable=differentiable))
