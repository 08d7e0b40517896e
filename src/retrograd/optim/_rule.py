"""What optimizers share: one way to be made, and one way to step.

NOTE [One formula per optimizer]
A subclass of `Rule` says in `_start` what it keeps for a parameter and in `_update` how it changes one, in place and on real
numbers. `Rule` does the rest: gradients that are missing, sparse or to be maximized, complex parameters (the formula sees
views of their real and imaginary parts), hyperparameters that are tensors, gradient scaling and `differentiable`. In that
mode the formula runs on clones of the state, since a step's graph needs the state as it was, and hyperparameters stay
tensors, so that they get gradients.
Where nothing of that kind is asked for, the formula runs once for many parameters: those whose states have the same keys and
the same numbers in them (a step count, say) are put into lists, which take part in it as tensors do (see _tensors.py), so that
each op of the formula is one call for all of them.
"""
from __future__ import annotations

import inspect
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.optim._tensors import Tensors
from retrograd.optim.optimizer import Optimizer, loss_of
from retrograd.utils._foreach_utils import gradient_lists

CAPTURABLE = ["cuda", "xpu", "hpu", "privateuseone", "xla"]      # devices whose steps can be captured in a graph
LIST_ELEMENTS = 1 << 18          # so many elements of parameters are changed together, about
# Settings that states saved by older versions lack.
ADDED_LATER = {"amsgrad": False, "capturable": False, "centered": False, "decoupled_weight_decay": False,
               "differentiable": False, "foreach": None, "fused": None, "maximize": False, "momentum": 0, "nesterov": False}


def added_later(cls: type) -> dict[str, Any]:
    """The settings of ADDED_LATER that an optimizer's constructor takes; the base class adds others to `defaults`."""
    taken = {name for base in cls.__mro__ if base is not object for name in inspect.signature(base).parameters}
    return {name: value for name, value in ADDED_LATER.items() if name in taken}


class Rule(Optimizer):
    """The base of optimizers that treat each parameter alone; see NOTE [One formula per optimizer]."""

    # settings that are checked besides lr, eps and betas; None: the optimizer checks all of them itself
    _not_negative: tuple[str, ...] | None = ("weight_decay",)
    _no_sparse: str | None = ""                             # why sparse gradients are refused; None if they are not
    _captured = "params and state_steps"
    _on_reals = True                                        # complex parameters are pairs of real ones
    _differentiable_lists = False                           # foreach=True may be combined with differentiable=True
    _by_lists = True                                        # the formula can run on lists of tensors

    def __init__(self, params: Any, **settings: Any) -> None:
        self._check(settings)
        super().__init__(params, settings)
        if settings.get("fused"):
            if settings.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if settings.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
            self._step_supports_amp_scaling = True

    def _check(self, settings: dict[str, Any]) -> None:
        if self._not_negative is not None:
            check(settings, self._not_negative)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in added_later(type(self)).items():
                group.setdefault(name, value)
        for kept in self.state.values():
            if isinstance(kept, dict) and "step" in kept and not isinstance(kept["step"], Tensor):
                kept["step"] = torch.tensor(float(kept["step"]), dtype=scalar_dtype())

    def step(self, closure: Any = None) -> Any:
        """Take one step; `closure` recomputes the loss."""
        with torch.set_grad_enabled(True) if self.defaults.get("differentiable") else torch.no_grad():
            loss = None if closure is None else loss_of(closure)
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        """Change all parameters of a group that have gradients."""
        differentiable, maximize = group.get("differentiable", False), group.get("maximize", False)
        if differentiable and group.get("foreach") and not self._differentiable_lists:
            raise AssertionError("_foreach ops don't support autograd")
        settings = group if differentiable else with_numbers(group)
        found_inf, scale = self.__dict__.get("found_inf"), self.__dict__.get("grad_scale")
        if found_inf is not None and found_inf.item():
            return
        if self._by_lists and not (differentiable or scale is not None or group.get("capturable")):
            lists = gradient_lists(group["params"], LIST_ELEMENTS)
            if lists is not None:
                for params, grads in lists:
                    self._step_list(params, Tensors(grads), settings, maximize)
                return
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            if grad.is_sparse and self._no_sparse is not None:
                raise RuntimeError(self._no_sparse or f"{type(self).__name__} does not support sparse gradients")
            state = self.state[param] if self._keeps_state(group) else {}
            if not state:
                self._start(state, param, group)
            self._step_one(param, grad, state, settings, scale)

    def _step_one(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any], scale: Any) -> None:
        """Change one parameter, whatever it is."""
        if group.get("capturable") and param.device.type == "cpu":
            raise AssertionError(f"If capturable=True, {self._captured} must be on supported devices: {CAPTURABLE}.")
        if group.get("fused") and not param.is_floating_point():
            raise RuntimeError("`fused=True` requires all the params to be floating point Tensors of supported devices: "
                               f"['mps', 'cuda', 'xpu', 'hpu', 'cpu', 'mtia', 'privateuseone'] but {param.dtype} and "
                               f"{param.device.type}")
        if scale is not None:
            grad.div_(scale)
        if group.get("differentiable"):
            for name, value in state.items():
                if isinstance(value, Tensor) and name != "step":
                    state[name] = value.clone()
        grad = -grad if group.get("maximize") else grad
        if group.get("fused"):            # whose writes are not counted
            param = param.data
        if self._on_reals and param.is_complex():
            parts = {name: torch.view_as_real(value) if isinstance(value, Tensor) and value.is_complex() else value
                     for name, value in state.items()}
            self._update(torch.view_as_real(param), torch.view_as_real(grad.resolve_conj()), parts, group)
        else:
            self._update(param, grad, state, group)

    def _step_list(self, params: list[Any], grads: Tensors, group: dict[str, Any], maximize: bool) -> None:
        """Change parameters that have nothing unusual about them by one run of the formula for all that are alike."""
        grads = -grads if maximize else grads
        if not self._keeps_state(group):
            self._update(Tensors(written(params, group)), grads, {}, group)
            return
        alike: dict[Any, list[int]] = {}
        states = [self.state[param] for param in params]
        for i, state in enumerate(states):
            if not state:
                self._start(state, params[i], group)
            alike.setdefault(numbers_in(state), []).append(i)
        for places in alike.values():
            joint = {name: Tensors([states[i][name] for i in places]) if isinstance(value, Tensor) else value
                     for name, value in states[places[0]].items()}
            known = set(joint)
            self._update(Tensors(written([params[i] for i in places], group)), Tensors([grads[i] for i in places]), joint,
                         group)
            for name in joint.keys() - known:                      # a buffer that the first step made
                for i, value in zip(places, joint[name], strict=True):
                    states[i][name] = value

    def _keeps_state(self, group: dict[str, Any]) -> bool:
        return True

    def _start(self, state: dict[str, Any], param: Any, group: dict[str, Any]) -> None:
        """Fill the state of a parameter before its first step."""

    def _update(self, param: Any, grad: Any, state: dict[str, Any], group: dict[str, Any]) -> None:
        """Change a parameter and its state in place."""
        raise NotImplementedError


def written(params: list[Any], group: dict[str, Any]) -> list[Any]:
    """The parameters as a step writes to them; the writes of fused steps are not counted."""
    return [param.data for param in params] if group.get("fused") else params


def numbers_in(state: dict[str, Any]) -> tuple[Any, ...]:
    """What decides which states can be treated together: the keys, and the values that are numbers."""
    return tuple([(name, (value.item() if value.ndim == 0 else None) if isinstance(value, Tensor) else value)
                  for name, value in state.items()])


# ---- being made
def check(settings: dict[str, Any], not_negative: tuple[str, ...]) -> None:
    """Refuse settings outside of their range, in PyTorch's words."""
    lr = settings["lr"]
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"Invalid learning rate: {lr}")
    if "eps" in settings and not 0.0 <= settings["eps"]:
        raise ValueError(f"Invalid epsilon value: {settings['eps']}")
    for i, beta in enumerate(settings.get("betas", ())):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    for name in not_negative:
        if not 0.0 <= settings[name]:
            raise ValueError(f"Invalid {name} value: {settings[name]}")


def scalar_dtype() -> Any:
    """The dtype of step counts."""
    return torch.float64 if torch.get_default_dtype() == torch.float64 else torch.float32


def count() -> Any:
    """A step count at 0."""
    return torch.tensor(0.0, dtype=scalar_dtype())


def zeros(param: Any) -> Any:
    """A buffer shaped and laid out as a parameter."""
    return torch.zeros_like(param, memory_format=torch.preserve_format)


# ---- stepping
def number(value: Any) -> Any:
    """A setting that may be a one-element tensor, as a number."""
    return value.item() if isinstance(value, Tensor) else value


PLAIN = {list, float, int, bool, type(None)}      # types of settings without tensors


def with_numbers(group: dict[str, Any]) -> dict[str, Any]:
    """The group with numbers in the place of tensors."""
    if PLAIN.issuperset(map(type, group.values())):
        return group
    return {name: value if name == "params" else tuple(number(v) for v in value) if type(value) is tuple else number(value)
            for name, value in group.items()}


def advance(state: dict[str, Any]) -> float:
    """Count one step more, and return how many there are."""
    state["step"] += 1
    return float(state["step"].item())


def plus(a: Any, b: Any, scale: Any) -> Any:
    """a + scale * b, where the scale may be a tensor that wants a gradient."""
    return a + b.clone() * scale if isinstance(scale, Tensor) else a.add(b, alpha=scale)      # b may change before backward


def add_(a: Any, b: Any, scale: Any) -> None:
    """a += scale * b."""
    if isinstance(scale, Tensor):
        a.add_(b * scale)
    else:
        a.add_(b, alpha=scale)


def add_ratio_(a: Any, numerator: Any, denominator: Any, scale: Any) -> None:
    """a += scale * numerator / denominator."""
    if isinstance(scale, Tensor):
        a.addcdiv_(numerator * scale, denominator)
    else:
        a.addcdiv_(numerator, denominator, value=scale)


def decay_(param: Any, grad: Any, group: dict[str, Any]) -> Any:
    """Weight decay: on the parameter itself if it is decoupled, else by the gradient that is returned."""
    decay = group["weight_decay"]
    if isinstance(decay, Tensor) or decay != 0:
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - group["lr"] * decay)
        else:
            return plus(grad, param, decay)
    return grad


def average_(average: Any, value: Any, beta: Any) -> None:
    """average = beta * average + (1 - beta) * value."""
    weight = 1 - beta
    average.lerp_(value, weight.to(average.dtype) if isinstance(weight, Tensor) else weight)


def average_squares_(average: Any, value: Any, beta: Any) -> None:
    """average = beta * average + (1 - beta) * value**2."""
    if isinstance(beta, Tensor):
        average_(average, value * value, beta)
    else:
        average.mul_(beta).addcmul_(value, value, value=1 - beta)


def keep_largest_(largest: Any, value: Any) -> None:
    """largest = max(largest, value)."""
    before = largest.clone() if torch.is_grad_enabled() else largest         # the graph needs what was there before
    largest.copy_(before.maximum(value))


def raised(root: Any, eps: float) -> Any:
    """root + eps, in place where no graph has kept the root."""
    return root.add(eps) if torch.is_grad_enabled() else root.add_(eps)
