"""Checks and steps that the rules of expanded weights share."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import retrograd as torch
from retrograd.nn.utils._expanded_weights.expanded_weights_impl import ExpandedWeight


def is_batch_first(expanded_args_and_kwargs: Any) -> bool | None:
    """Whether examples are counted by the first dimension, as the expanded weights among some values say."""
    found = None
    for value in expanded_args_and_kwargs:
        if isinstance(value, ExpandedWeight):
            if found is not None and value.batch_first != found:
                raise RuntimeError("Got conflicting batch_first arguments in the same layer")
            found = value.batch_first
    return found


@contextmanager
def examples_first(values: Any, allow_smaller_batches: bool = False) -> Iterator[None]:
    """Let the expanded weights among some values count examples by the first dimension, and where asked some of them only."""
    weights = [value for value in values if isinstance(value, ExpandedWeight)]
    before = [(w.batch_first, w.allow_smaller_batches) for w in weights]
    for w in weights:
        w.set_batch_first(True)
        w.set_allow_smaller_batches(allow_smaller_batches or w.allow_smaller_batches)
    try:
        yield
    finally:
        for w, (first, smaller) in zip(weights, before, strict=True):
            w.set_batch_first(first)
            w.set_allow_smaller_batches(smaller)


def standard_kwargs(kwarg_names: Any, expanded_args: Any) -> tuple[Any, dict[str, Any]]:
    """Arguments of which the last are given by name.

    >>> standard_kwargs(("a", "b"), (1, 2, 3))
    ((1,), {'a': 2, 'b': 3})
    """
    count = len(expanded_args) - len(kwarg_names)
    return expanded_args[:count], dict(zip(kwarg_names, expanded_args[count:], strict=True))


def forward_helper(func: Callable[..., Any], expanded_args: Any, expanded_kwargs: Any) -> Any:
    """The result of a function, with weights in the place of expanded weights, whose batch sizes must fit the input's."""
    args, kwargs = checked(func, expanded_args, expanded_kwargs)
    return func(*args, **kwargs)


def checked(func: Callable[..., Any], args: Any, kwargs: Any) -> tuple[Any, dict[str, Any]]:
    """The arguments with weights in the place of expanded weights."""
    first = args[0]
    name = func.__name__
    if isinstance(first, ExpandedWeight):
        raise RuntimeError("Expanded Weights do not support inputs that are also ExpandedWeights. Input must be a Tensor, got "
                           f"{type(first).__name__} in function {name}")
    if not isinstance(first, torch.Tensor):
        raise RuntimeError("Expanded Weights requires a Tensor as the first input to get the batch dimension, got "
                           f"{type(first).__name__} in function {name}")
    if first.dim() == 0:
        raise RuntimeError("Expanded Weights requires a batch dimension but got an input of size 0 in function " + name)
    if first.shape[0] == 0:
        raise RuntimeError(f"0 is not a valid batch size for Expanded Weights but got input tensor of {first} in function "
                           + name)
    for value in (*args, *kwargs.values()):
        if isinstance(value, ExpandedWeight):
            size, allowed = first.shape[0], value.batch_size
            if size != allowed and not (value.allow_smaller_batches and size <= allowed):
                raise RuntimeError("Expected ExpandedWeights to have batch size matching input but got input batch size of "
                                   f"{size} with ExpandedWeight of batch size {allowed}")
    return (tuple([unexpanded(value) for value in args]), {key: unexpanded(value) for key, value in kwargs.items()})


def unexpanded(value: Any) -> Any:
    return value.orig_weight if isinstance(value, ExpandedWeight) else value


def maybe_scale_by_batch_size(grad_sample: Any, expanded_weight: Any) -> Any:
    """Gradients of each example's own loss, where the loss is the mean over examples."""
    return grad_sample * expanded_weight.batch_size if expanded_weight.loss_reduction == "mean" else grad_sample


def set_grad_sample_if_exists(maybe_expanded_weight: Any, per_sample_grad_fn: Callable[[Any], Any]) -> None:
    """Add gradients of examples to those of an expanded weight; other values have none.

    >>> weight = torch.ones(2, requires_grad=True)
    >>> set_grad_sample_if_exists(ExpandedWeight(weight, 3, "mean"), lambda w: torch.ones(2, 2))
    >>> weight.grad_sample.tolist()
    [[3.0, 3.0], [3.0, 3.0], [0.0, 0.0]]
    """
    if not isinstance(maybe_expanded_weight, ExpandedWeight):
        return
    made = maybe_scale_by_batch_size(per_sample_grad_fn(unpack_expanded_weight_or_tensor(maybe_expanded_weight)),
                                     maybe_expanded_weight)
    missing = maybe_expanded_weight.batch_size - made.shape[0]
    if missing > 0:                       # examples that are shorter than others are missing in the last batches
        made = torch.cat([made, made.new_zeros(missing, *made.shape[1:])])
    weight = maybe_expanded_weight.orig_weight
    before = getattr(weight, "grad_sample", None)
    weight.grad_sample = made if before is None else before + made


def unpack_expanded_weight_or_tensor(maybe_expanded_weight: Any, func: Callable[[Any], Any] = lambda value: value) -> Any:
    """What a function makes of the weight or tensor that a value is; None for other values."""
    if isinstance(maybe_expanded_weight, ExpandedWeight):
        return func(maybe_expanded_weight.orig_weight)
    if isinstance(maybe_expanded_weight, torch.Tensor) and not maybe_expanded_weight.requires_grad:
        return func(maybe_expanded_weight)
    if isinstance(maybe_expanded_weight, torch.Tensor):
        raise RuntimeError("ExpandedWeights currently does not support a mixture of ExpandedWeight parameters and normal "
                           "Parameters. Please file and issue with pytorch/pytorch")
    return None


def sum_over_all_but_batch_and_last_n(tensor: Any, n_dims: int) -> Any:
    """A sum that leaves the first and the last n dimensions.

    >>> sum_over_all_but_batch_and_last_n(torch.ones(2, 3, 4, 5), 2).shape
    torch.Size([2, 4, 5])
    """
    return tensor if tensor.dim() == n_dims + 1 else tensor.sum(list(range(1, tensor.dim() - n_dims)))
