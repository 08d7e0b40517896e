"""The optimizers as functions of lists: of parameters, their gradients, and each part of their state.

    >>> import retrograd as torch
    >>> w, average, squares, step = torch.ones(1), torch.zeros(1), torch.zeros(1), torch.tensor(0.0)
    >>> torch.optim.adam.adam([w], [torch.ones(1)], [average], [squares], [], [step], amsgrad=False, beta1=0.9, beta2=0.999,
    ...                       lr=0.5, weight_decay=0.0, eps=1e-8, maximize=False)
    >>> w, step
    (tensor([0.5000]), tensor(1.))
"""
from __future__ import annotations

from typing import Any

from retrograd import Tensor
from retrograd.optim._rule import with_numbers


def step_lists(rule: Any, params: list[Any], grads: list[Any], states: dict[str, list[Any]], group: dict[str, Any],
               grad_scale: Any = None, found_inf: Any = None) -> None:
    """One step of an optimizer's formula for each parameter, with the i-th items of `states` as its state."""
    if not all([isinstance(step, Tensor) for step in states.get("step", ())]):
        raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
    if found_inf is not None and found_inf.item():
        return
    worker = rule.__new__(rule)                                # for its formula, which is all that is used of it
    settings = group if group.get("differentiable") else with_numbers(group)
    for i, (param, grad) in enumerate(zip(params, grads, strict=True)):
        state = {name: values[i] for name, values in states.items() if values and values[i] is not None}
        before = dict(state)
        worker._step_one(param, grad, state, settings, grad_scale)
        for name, value in state.items():
            if name not in before:                             # a buffer that the first step makes
                if states[name]:
                    states[name][i] = value
            elif value is not before[name]:                    # a differentiable step has worked on a copy
                before[name].copy_(value)
