"""NAdam: Adam with Nesterov's momentum."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import (
    Rule,
    add_ratio_,
    advance,
    average_,
    average_squares_,
    count,
    decay_,
    raised,
    scalar_dtype,
    zeros,
)

__all__ = ["NAdam", "nadam"]


class NAdam(Rule):
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

    _captured = "params, mu_products and state_steps"
    _not_negative = ("weight_decay", "momentum_decay")

    def __init__(self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                         decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach,
                         capturable=capturable, differentiable=differentiable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), mu_product=torch.ones((), dtype=scalar_dtype()), exp_avg=zeros(param),
                     exp_avg_sq=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), lr, average, squares = group["betas"], group["lr"], state["exp_avg"], state["exp_avg_sq"]
        step = advance(state)
        grad = decay_(param, grad, group)
        now, later = (beta1 * (1.0 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (step, step + 1))
        state["mu_product"] *= now
        product = state["mu_product"].item()
        average_(average, grad, beta1)
        average_squares_(squares, grad, beta2)
        size = raised(squares.div(1 - beta2 ** step).sqrt(), group["eps"])
        add_ratio_(param, grad, size, -lr * (1.0 - now) / (1.0 - product))
        add_ratio_(param, average, size, (-lr * later) / (1.0 - product * later))


def nadam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], mu_products: list[Any],
          state_steps: list[Any], decoupled_weight_decay: bool = False, foreach: bool | None = None, capturable: bool = False,
          differentiable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float,
          lr: float, weight_decay: float, momentum_decay: float, eps: float) -> None:
    """One step of NAdam for lists of tensors."""
    step_lists(NAdam, params, grads, dict(step=state_steps, exp_avg=exp_avgs, exp_avg_sq=exp_avg_sqs, mu_product=mu_products),
               dict(lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                    decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, capturable=capturable,
                    differentiable=differentiable))
