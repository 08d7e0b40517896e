"""RAdam: Adam that takes plain steps as long as the average of squares is not to be trusted."""
from __future__ import annotations

from typing import Any

from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_, advance, average_, average_squares_, count, decay_, raised, zeros

__all__ = ["RAdam", "radam"]


class RAdam(Rule):
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
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                         capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), exp_avg=zeros(param), exp_avg_sq=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), lr, average, squares = group["betas"], group["lr"], state["exp_avg"], state["exp_avg_sq"]
        step = advance(state)
        grad = decay_(param, grad, group)
        average_(average, grad, beta1)
        average_squares_(squares, grad, beta2)
        correction = 1 - beta2 ** step
        update = average / (1 - beta1 ** step) * lr
        most = 2 / (1 - beta2) - 1                      # how many squares the average is worth, in the end and now
        worth = most - 2 * step * (beta2 ** step) / correction
        if worth > 5.0:
            rectified = ((worth - 4) * (worth - 2) * most / ((most - 4) * (most - 2) * worth)) ** 0.5
            update = update * (correction ** 0.5 / raised(squares.sqrt(), group["eps"])) * rectified
        add_(param, update, -1.0)


def radam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], state_steps: list[Any],
          decoupled_weight_decay: bool = False, foreach: bool | None = None, differentiable: bool = False,
          capturable: bool = False, has_complex: bool = False, maximize: bool = False, *, beta1: float, beta2: float, lr: float,
          weight_decay: float, eps: float) -> None:
    """One step of RAdam for lists of tensors."""
    step_lists(RAdam, params, grads, dict(step=state_steps, exp_avg=exp_avgs, exp_avg_sq=exp_avg_sqs),
               dict(lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, capturable=capturable, maximize=maximize,
                    decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))
