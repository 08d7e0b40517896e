"""Gradients of every example of a batch, in one backward pass."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd.func import functional_call
from retrograd.nn.utils._expanded_weights import ExpandedWeight
from retrograd.utils import _pytree as pytree

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(module: Any, *, batch_size: int | None = None, loss_reduction: str = "sum",
                              batch_first: bool = True) -> Callable[..., Any]:
    """A function that calls `module`; backward leaves gradients of each example in `grad_sample` of its parameters.

    >>> model = torch.nn.Linear(2, 1)
    >>> call_for_per_sample_grads(model)(torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
    >>> model.weight.grad_sample.tolist(), model.weight.grad is None
    ([[[1.0, 2.0]], [[3.0, 4.0]]], True)
    """
    if not isinstance(module, torch.nn.Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    for weight in module.parameters():
        if getattr(weight, "grad_sample", None) is not None:
            raise RuntimeError("Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                               f"without clearing gradients. Please clear out the grad_sample parameter of {weight} or post an "
                               "issue to pytorch/pytorch to prioritize correct behavior")

    @functools.wraps(module.forward)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        size = batch_size if batch_size is not None else common_size((args, kwargs), 0 if batch_first else 1)
        expanded = {}
        for name, weight in module.named_parameters():
            if weight.requires_grad:
                weight_for_batch = ExpandedWeight(weight, size, loss_reduction)
                weight_for_batch.set_batch_first(batch_first)
                expanded[name] = weight_for_batch
            else:
                expanded[name] = weight
        return functional_call(module, expanded, args, kwargs)
    return wrapper


def common_size(values: Any, dim: int) -> int:
    """The number of examples that all tensors among some values have."""
    size: int | None = None
    for leaf in pytree.tree_leaves(values):
        if not isinstance(leaf, torch.Tensor):
            continue
        here = leaf.shape[dim]
        if size is not None and here != size:
            raise RuntimeError(f"When computing batch size, found at least one input with batch size {size} and one with batch "
                               f"size {here}. Please specify it explicitly using the batch size kwarg in "
                               "call_for_per_sample_grads")
        size = here
    if size is None:
        raise RuntimeError("Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so "
                           "ExpandedWeights cannot compute the batch size from the inputs. Please specify it explicitly")
    return size
