"""Optimizer updates for lists of parameters: `_fused_adam_` and `_fused_adamw_`, one pass over memory each.

The compiled core has a loop for each formula (INTERNAL in codegen/table.py), which runs over all parameters in one
parallel region; unsupported tensors (non-contiguous, mixed dtypes, complex) get the same formula op by op.
"""
from __future__ import annotations

from typing import Any

from retrograd.core import fast_kernels
from retrograd.core.api import expose
from retrograd.core.dispatch import is_ordinary
from retrograd.core.tensor import Tensor, bump
from retrograd.ops import late
from retrograd.ops.lists.foreach import check_lists


def native_update(name: str, lists: Any, numbers: tuple[float, ...]) -> bool:
    """Run the compiled loop on the tensors of `lists`; False if it does not support them."""
    native = fast_kernels.native
    if native is None or not all(is_ordinary(t) for tensors in lists for t in tensors):
        return False
    return bool(native.update(name, list(zip(*[[t.array for t in tensors] for tensors in lists], strict=True)), numbers))


def adam(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, lr: float,
         beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool, grad_scale: Any,
         found_inf: Any, decoupled: bool) -> None:
    """One step of Adam for each parameter, after the step counters were incremented."""
    check_lists(self, grads, exp_avgs, exp_avg_sqs, state_steps)
    if found_inf is not None and found_inf.item():
        return
    if grad_scale is not None:
        for grad in grads:
            late.div_(grad, grad_scale)
    groups: dict[float, list[int]] = {}
    for i, step in enumerate(state_steps):
        groups.setdefault(float(step.item()), []).append(i)
    for step, members in groups.items():
        rate, root = lr / (1 - beta1 ** step), (1 - beta2 ** step) ** 0.5
        decay = weight_decay and not decoupled
        numbers = (1 - beta1, 1 - beta2, weight_decay if decay else 1 - lr * weight_decay, rate, root, eps)
        lists = [[tensors[i] for i in members] for tensors in (self, grads, exp_avgs, exp_avg_sqs)]
        if not amsgrad and not maximize and native_update("adam_decay" if decay else "adam", lists, numbers):
            # as many writes as the formula below makes
            for k in (0, 0, 2, 3, 3) if decoupled and weight_decay else (0, 2, 3, 3):
                for t in lists[k]:
                    bump(t)
            continue
        for i in members:
            one_adam(self[i], grads[i], exp_avgs[i], exp_avg_sqs[i], max_exp_avg_sqs[i] if amsgrad else None, lr, numbers,
                     weight_decay, decoupled, maximize)


def one_adam(param: Any, grad: Tensor, average: Any, squares: Any, largest: Any, lr: float, numbers: tuple[float, ...],
             weight_decay: float, decoupled: bool, maximize: bool) -> None:
    """The formula, for one parameter."""
    one, two, _, rate, root, eps = numbers
    change = -grad if maximize else grad
    if weight_decay and decoupled:
        late.mul_(param, 1 - lr * weight_decay)
    elif weight_decay:
        change = late.add(change, param, alpha=weight_decay)
    late.lerp_(average, change, one)
    late.addcmul_(late.mul_(squares, 1 - two), change, change, value=two)
    if largest is not None:
        late.copy_(largest, late.maximum(largest, squares))
        squares = largest
    late.addcdiv_(param, average, late.add_(late.sqrt(squares) / root, eps), value=-rate)


def declare(name: str, decoupled: bool, doc: str) -> None:
    """Publish Adam under a separate name for each kind of weight decay."""
    def update(self: Any, grads: Any, exp_avgs: Any, exp_avg_sqs: Any, max_exp_avg_sqs: Any, state_steps: Any, *, lr: float,
               beta1: float, beta2: float, weight_decay: float, eps: float, amsgrad: bool, maximize: bool,
               grad_scale: Any = None, found_inf: Any = None) -> None:
        adam(self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, float(lr), beta1, beta2, weight_decay, eps,
             amsgrad, maximize, grad_scale, found_inf, decoupled)
    update.__name__ = update.__qualname__ = name
    update.__doc__ = doc
    expose(update)


declare("_fused_adam_", False, "Adam for a list of parameters, whose weight decay goes through the averages.")
declare("_fused_adamw_", True, "Adam for a list of parameters, with weight decay of their own.")
