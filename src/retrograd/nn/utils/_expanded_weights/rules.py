"""The functions that take expanded weights: run on the whole batch, differentiated example by example by vmap of vjp."""
from __future__ import annotations

from typing import Any

import retrograd as torch
import retrograd.nn.functional as F
from retrograd.autograd import Function
from retrograd.func import vjp, vmap
from retrograd.nn.utils._expanded_weights.expanded_weights_impl import ExpandedWeight, implements_per_sample_grads
from retrograd.nn.utils._expanded_weights.expanded_weights_utils import (
    checked,
    examples_first,
    is_batch_first,
    set_grad_sample_if_exists,
    unpack_expanded_weight_or_tensor,
)
from retrograd.utils import _pytree as pytree

SMALLEST = {F.linear: 2, F.layer_norm: 2, F.group_norm: 2, F.instance_norm: 2}
SPATIAL = {F.conv1d: 1, F.conv2d: 2, F.conv3d: 3}


@implements_per_sample_grads(F.linear, F.embedding, F.layer_norm, F.group_norm, F.instance_norm, F.conv1d, F.conv2d, F.conv3d)
def rule(func: Any, args: Any, kwargs: Any) -> Any:
    """A function whose first argument is a batch of examples."""
    if not args:
        kwargs = dict(kwargs)
        args = (kwargs.pop("input"),)
    first = args[0]
    if isinstance(first, torch.Tensor) and not isinstance(first, ExpandedWeight):
        if func is F.embedding and first.dim() == 1:
            raise RuntimeError(f"Expanded Weights needs an input with a batch size, got a 1D tensor, {first}")
        if first.dim() and first.dim() < SMALLEST.get(func, 1):
            raise RuntimeError("Input does not have a batch dimension. Expanded Weights expected input of at least rank "
                               f"{SMALLEST[func]}, got of rank {first.dim()}")
        if func in SPATIAL and first.dim() != SPATIAL[func] + 2:
            raise RuntimeError(f"Expanded Weights only support convolution with batched input, got {func} with an unbatched "
                               f"input of dim {first.dim()}, expected input of dim {SPATIAL[func] + 2}")
    if func is F.linear and is_batch_first((*args, *kwargs.values())) is False:
        with examples_first((*args, *kwargs.values())):
            return run(func, (first.transpose(0, 1), *args[1:]), kwargs).transpose(0, 1)
    return run(func, args, kwargs)


def run(func: Any, args: Any, kwargs: Any) -> Any:
    checked(func, args, kwargs)
    leaves, structure = pytree.tree_flatten((args, kwargs))
    weights = [i for i, leaf in enumerate(leaves) if isinstance(leaf, ExpandedWeight)]
    tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and i not in weights]
    for i in tensors[1:]:
        unpack_expanded_weight_or_tensor(leaves[i])
    call = Call(func, leaves, structure, weights, tensors)
    return PerExample.apply(call, *[leaves[i].orig_weight for i in weights], *[leaves[i] for i in tensors])


class Call:
    """A function with arguments, of which some are expanded weights and some are other tensors."""

    def __init__(self, func: Any, leaves: list[Any], structure: Any, weights: list[int], tensors: list[int]) -> None:
        self.func, self.structure, self.weights, self.tensors = func, structure, weights, tensors
        self.leaves = leaves

    def __call__(self, weights: Any, tensors: Any) -> Any:
        leaves = list(self.leaves)
        for i, value in zip([*self.weights, *self.tensors], [*weights, *tensors], strict=True):
            leaves[i] = value
        args, kwargs = pytree.tree_unflatten(leaves, self.structure)
        return self.func(*args, **kwargs)


class PerExample(Function):
    """Runs a function; backward gives a gradient to its input, and gradients of each example to expanded weights."""

    @staticmethod
    def forward(ctx: Any, call: Any, *values: Any) -> Any:
        count = len(call.weights)
        ctx.call = call
        ctx.save_for_backward(*values)
        return call(values[:count], values[count:])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:     # type: ignore[override]
        call, saved = ctx.call, ctx.saved_tensors
        count = len(call.weights)
        weights, tensors = [w.detach() for w in saved[:count]], [t.detach() for t in saved[count:]]
        given = None
        if ctx.needs_input_grad[1 + count]:
            _, pull = vjp(lambda batch: effects_left_out(call, weights, [batch, *tensors[1:]]), tensors[0])
            given, = pull(grad)

        def of_example(example: Any, cotangent: Any) -> Any:
            inputs = [example.unsqueeze(0), *tensors[1:]]
            _, pull = vjp(lambda *values: effects_left_out(call, values, inputs), *weights)
            return pull(cotangent.unsqueeze(0))

        for i, sample in zip(call.weights, vmap(of_example)(tensors[0], grad), strict=True):
            set_grad_sample_if_exists(call.leaves[i], given_value(sample))
        return None, *[None] * count, given, *[None] * (len(tensors) - 1)


def given_value(value: Any) -> Any:
    return lambda weight: value


def effects_left_out(call: Call, weights: Any, tensors: Any) -> Any:
    """The call as a function without side effects: statistics of the batch are not written down a second time."""
    if call.func is not F.instance_norm:
        return call(weights, tensors)
    leaves = list(call.leaves)
    for i, value in zip([*call.weights, *call.tensors], [*weights, *tensors], strict=True):
        leaves[i] = value
    args, kwargs = pytree.tree_unflatten(leaves, call.structure)
    names = ("input", "running_mean", "running_var", "weight", "bias", "use_input_stats", "momentum", "eps")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    if given.get("use_input_stats", True):
        given["running_mean"] = given["running_var"] = None
    return F.instance_norm(**given)
