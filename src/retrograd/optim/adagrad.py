"""Adagrad: steps scaled by the sum of all squared gradients so far."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import Rule, add_ratio_, advance, count, decay_, raised

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Rule):
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

    _not_negative = ("lr_decay", "weight_decay", "initial_accumulator_value")
    _no_sparse = None

    def __init__(self, params: Any, lr: Any = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False,
                 differentiable: bool = False, fused: bool | None = None) -> None:
        super().__init__(params, lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                         initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                         differentiable=differentiable, fused=fused)
        for group in self.param_groups:
            for param in group["params"]:
                self._start(self.state[param], param, group)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        start = self.defaults["initial_accumulator_value"]
        start = complex(start, start) if param.is_complex() else start
        state.update(step=count(), sum=torch.full_like(param, start, memory_format=torch.preserve_format))

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        squares, sparse = state["sum"], grad.is_sparse
        rate = -group["lr"] / (1 + (advance(state) - 1) * group["lr_decay"])
        if sparse and group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if sparse:
            grad = grad.coalesce()
            squares.add_(with_values(grad, grad._values().pow(2)))
            size = squares.sparse_mask(grad)._values().sqrt_().add_(group["eps"])
            param.add_(with_values(grad, grad._values() / size), alpha=rate)
        else:
            grad = decay_(param, grad, group)
            squares.addcmul_(grad, grad, value=1)
            add_ratio_(param, grad, raised(squares.sqrt(), group["eps"]), rate)


def with_values(sparse: Any, values: Any) -> Any:
    """A sparse tensor with other values at the same places."""
    return torch.sparse_coo_tensor(sparse._indices(), values, sparse.size())


def adagrad(params: list[Any], grads: list[Any], state_sums: list[Any], state_steps: list[Any], fused: bool | None = None,
            grad_scale: Any = None, found_inf: Any = None, has_sparse_grad: bool = False, foreach: bool | None = None,
            differentiable: bool = False, has_complex: bool = False, *, lr: float, weight_decay: float, lr_decay: float,
            eps: float, maximize: bool) -> None:
    """One step of Adagrad for lists of tensors."""
    step_lists(Adagrad, params, grads, dict(step=state_steps, sum=state_sums),
               dict(lr=lr, weight_decay=weight_decay, lr_decay=lr_decay, eps=eps, maximize=maximize, fused=fused,
                    differentiable=differentiable), grad_scale, found_inf)
