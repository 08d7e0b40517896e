"""ASGD: gradient descent that also averages the parameters."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, advance, count, decay_, number, scalar_dtype, zeros

__all__ = ["ASGD", "asgd"]


class ASGD(Rule):
    """Averaged gradient descent; the averages are `state[param]['ax']`.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.6400])
    """

    _captured = "params, mus, etas, and state_steps"

    def __init__(self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
                 weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
                 capturable: bool = False) -> None:
        super().__init__(params, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach,
                         maximize=maximize, differentiable=differentiable, capturable=capturable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), eta=torch.tensor(number(group["lr"]), dtype=scalar_dtype()),
                     mu=torch.ones((), dtype=scalar_dtype()), ax=zeros(param))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        lr, lambd, mean = number(group["lr"]), group["lambd"], state["ax"]
        step, eta, mu = advance(state), state["eta"].item(), state["mu"].item()
        grad = decay_(param, grad, group)
        param.mul_(1 - lambd * eta)
        param.add_(grad, alpha=-eta)
        if mu != 1:
            mean.add_(param.sub(mean).mul_(mu))
        else:
            mean.copy_(param)
        state["eta"].fill_(lr / ((1 + lambd * lr * step) ** group["alpha"]))
        state["mu"].fill_(1 / max(1, step - group["t0"]))


def asgd(params: list[Any], grads: list[Any], axs: list[Any], mus: list[Any], etas: list[Any], state_steps: list[Any],
         foreach: bool | None = None, maximize: bool = False, differentiable: bool = False, capturable: bool = False,
         has_complex: bool = False, *, lambd: float, lr: float, t0: float, alpha: float, weight_decay: float) -> None:
    """One step of ASGD for lists of tensors."""
    step_lists(ASGD, params, grads, dict(step=state_steps, ax=axs, mu=mus, eta=etas),
               dict(lr=lr, lambd=lambd, t0=t0, alpha=alpha, weight_decay=weight_decay, maximize=maximize, capturable=capturable,
                    differentiable=differentiable))
