"""Rprop: steps of a size of their own for each element, that follow only the sign of the gradient."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim.optimizer import EachParameter, check_lr, number


class Rprop(EachParameter):
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

    def __init__(self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False, foreach: bool | None = None,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, param: Any, grad: Any, group: dict[str, Any]) -> None:
        kept, (shrink, grow), (least, most) = self.state[param], group["etas"], group["step_sizes"]
        if not kept:
            kept["step"] = torch.zeros((), dtype=torch.float32)
            kept["prev"] = torch.zeros_like(param, memory_format=torch.preserve_format)
            kept["step_size"] = torch.full_like(grad, number(group["lr"]))
        kept["step"] += 1
        sign = grad.mul(kept["prev"]).sign()
        turned = sign < 0
        factor = torch.where(sign > 0, grow, torch.where(turned, shrink, 1.0)).to(param.dtype)
        kept["step_size"].mul_(factor).clamp_(least, most)
        grad = grad.masked_fill(turned, 0)              # no step where the gradient has changed its sign
        param.addcmul_(grad.sign(), kept["step_size"], value=-1)
        kept["prev"].copy_(grad)
