"""Adam: steps scaled by running averages of gradients and of their squares."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.optim._lists import step_lists
from retrograd.optim._rule import (
    Rule,
    add_ratio_,
    advance,
    average_,
    average_squares_,
    count,
    decay_,
    keep_largest_,
    written,
    zeros,
)

__all__ = ["Adam", "adam"]


class Adam(Rule):
    """Adam; with `decoupled_weight_decay` the decay does not go through the averages.

    >>> from retrograd import nn, ones, optim
    >>> w = nn.Parameter(ones(1))
    >>> optimizer = optim.Adam([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000])
    """

    _no_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False, fused: bool | None = None,
                 decoupled_weight_decay: bool = False) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        super().__init__(params, lr=lr, betas=checked_betas(betas, foreach, capturable), eps=eps, weight_decay=weight_decay,
                         amsgrad=amsgrad, maximize=maximize, foreach=foreach, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=decoupled_weight_decay)

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        state.update(step=count(), exp_avg=zeros(param), exp_avg_sq=zeros(param))
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros(param)

    def _step_group(self, group: dict[str, Any]) -> None:
        tensors = any(isinstance(value, Tensor) for value in (group["lr"], group["weight_decay"], *group["betas"]))
        scaled = "found_inf" in self.__dict__ or "grad_scale" in self.__dict__
        plain = not (tensors or scaled or any(group[name] for name in ("amsgrad", "maximize", "capturable", "differentiable")))
        params = [p for p in group["params"] if p.grad is not None] if plain else []
        if not params or not all(p.is_floating_point() and not p.grad.is_sparse for p in params):
            super()._step_group(group)
            return
        kept = [self.state[p] for p in params]
        for state, param in zip(kept, params, strict=True):
            if not state:
                self._start(state, param, group)
            state["step"] += 1
        update = torch._fused_adamw_ if group["decoupled_weight_decay"] else torch._fused_adam_  # type: ignore[attr-defined]
        update(written(params, group), [p.grad for p in params], [s["exp_avg"] for s in kept],
               [s["exp_avg_sq"] for s in kept], [], [s["step"] for s in kept],
               lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1],
               weight_decay=group["weight_decay"], eps=group["eps"], amsgrad=False, maximize=False)

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        (beta1, beta2), average, squares = group["betas"], state["exp_avg"], state["exp_avg_sq"]
        if state["step"].requires_grad:
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
        step = advance(state)
        grad = decay_(param, grad, group)
        average_(average, grad, beta1)
        average_squares_(squares, grad, beta2)
        if group["amsgrad"]:
            keep_largest_(state["max_exp_avg_sq"], squares)
            squares = state["max_exp_avg_sq"]
        size = (squares.sqrt() / (1 - beta2 ** step) ** 0.5).add_(group["eps"])
        add_ratio_(param, average, size, -(group["lr"] / (1 - beta1 ** step)))


def checked_betas(betas: Any, foreach: bool | None, capturable: bool) -> tuple[Any, Any]:
    """Both betas as numbers or as tensors without dimensions."""
    for i, beta in enumerate(betas):
        if not (isinstance(beta, Tensor) and beta.numel() != 1) and not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if not any([all([isinstance(beta, kind) for beta in betas]) for kind in (float, Tensor)]):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if foreach and not capturable:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")
    return tuple(beta.squeeze() if isinstance(beta, Tensor) and beta.dim() else beta for beta in betas)  # type: ignore[return-value]


def adam(params: list[Any], grads: list[Any], exp_avgs: list[Any], exp_avg_sqs: list[Any], max_exp_avg_sqs: list[Any],
         state_steps: list[Any], foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
         fused: bool | None = None, grad_scale: Any = None, found_inf: Any = None, has_complex: bool = False,
         decoupled_weight_decay: bool = False, *,
         amsgrad: bool, beta1: Any, beta2: Any, lr: Any, weight_decay: float, eps: float, maximize: bool) -> None:
    """One step of Adam for lists of tensors."""
    step_lists(Adam, params, grads, dict(step=state_steps, exp_avg=exp_avgs, exp_avg_sq=exp_avg_sqs,
                                         max_exp_avg_sq=max_exp_avg_sqs),
               dict(lr=lr, betas=(beta1, beta2), eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
                    capturable=capturable, differentiable=differentiable, fused=fused,
                    decoupled_weight_decay=decoupled_weight_decay), grad_scale, found_inf)
