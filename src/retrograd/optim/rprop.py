"""Rprop: steps of a size of their own for each element, that follow only the sign of the gradient."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, advance, count, number, zeros

__all__ = ["Rprop", "rprop"]


class Rprop(Rule):
    """Resilient backpropagation.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> for _ in range(2):
    ...     optimizer.zero_grad()
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    >>> w.detach()
    tensor([0.7800])
    """

    _not_negative = ()

    def __init__(self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                         differentiable=differentiable, capturable=capturable)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        lr = number(group["lr"])
        size = torch.full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)
        state.update(step=count(), prev=zeros(param), step_size=size)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (shrink, grow), (least, most), before, size = group["etas"], group["step_sizes"], state["prev"], state["step_size"]
        advance(state)
        sign = grad.detach().mul(before.detach()).sign()
        changed = sign < 0
        factor = sign.masked_fill(sign > 0, grow).masked_fill(changed, shrink).masked_fill(sign == 0, 1.0)
        size.mul_(factor.to(param.dtype)).clamp_(least, most)
        grad = grad.masked_fill(changed, 0)              # no step where the gradient has changed its sign
        param.addcmul_(grad.sign(), size, value=-1)
        before.copy_(grad)


def rprop(params: list[Any], grads: list[Any], prevs: list[Any], step_sizes: list[Any], state_steps: list[Any],
          foreach: bool | None = None, capturable: bool = False, maximize: bool = False, differentiable: bool = False,
          has_complex: bool = False, *, step_size_min: float, step_size_max: float, etaminus: float, etaplus: float) -> None:
    """One step of Rprop for lists of tensors."""
    step_lists(Rprop, params, grads, dict(step=state_steps, prev=prevs, step_size=step_sizes),
               dict(etas=(etaminus, etaplus), step_sizes=(step_size_min, step_size_max), maximize=maximize,
                    capturable=capturable, differentiable=differentiable))
