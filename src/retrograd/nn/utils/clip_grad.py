"""Limits for gradients, to be applied between backward and the optimizer's step."""
from __future__ import annotations

import warnings
from collections.abc import Iterable
from types import GeneratorType
from typing import Any

import retrograd as torch
from retrograd import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def listed(tensors: Tensor | Iterable[Any]) -> list[Any]:
    if isinstance(tensors, Tensor):
        return [tensors]
    return list(tensors)


def gradients(parameters: Tensor | Iterable[Any]) -> list[Any]:
    return [p.grad for p in listed(parameters) if p.grad is not None]


@torch.no_grad()
def get_total_norm(tensors: Tensor | Iterable[Any], norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Any:
    """The norm of all elements of some tensors together.

    >>> import retrograd as torch
    >>> get_total_norm([torch.tensor([3.0, 4.0]), torch.tensor([12.0])])
    tensor(13.)
    """
    tensors, norm_type = listed(tensors), float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    norms = [torch.linalg.vector_norm(t, norm_type) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
                           "be clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
                           "`error_if_nonfinite=False`")
    return total


@torch.no_grad()
def clip_grads_with_norm_(parameters: Tensor | Iterable[Any], max_norm: float, total_norm: Any,
                          foreach: bool | None = None) -> None:
    """Scale gradients whose norm together is `total_norm` so that it is at most `max_norm`.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> clip_grads_with_norm_(w, 1.0, torch.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in gradients(parameters):
        grad.mul_(factor)


@torch.no_grad()
def clip_grad_norm_(parameters: Tensor | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """Scale the gradients of parameters so that their norm together is at most `max_norm`; the norm that they had.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    generated = isinstance(parameters, GeneratorType)
    parameters = listed(parameters)
    if generated and not parameters:
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    total = get_total_norm(gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters: Tensor | Iterable[Any], max_norm: float, norm_type: float = 2.0,
                   error_if_nonfinite: bool = False, foreach: bool | None = None) -> Any:
    """The old name of `clip_grad_norm_`.

    >>> import warnings
    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, 4.0])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     clip_grad_norm(w, 1.0)
    tensor(5.)
    """
    warnings.warn("`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
                  FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@torch.no_grad()
def clip_grad_value_(parameters: Tensor | Iterable[Any], clip_value: float, foreach: bool | None = None) -> None:
    """Bring each element of the gradients between -clip_value and clip_value.

    >>> import retrograd as torch
    >>> w = torch.nn.Parameter(torch.zeros(2))
    >>> w.grad = torch.tensor([3.0, -0.5])
    >>> clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 1.0000, -0.5000])
    """
    clip_value = float(clip_value)
    for grad in gradients(parameters):
        grad.clamp_(min=-clip_value, max=clip_value)
