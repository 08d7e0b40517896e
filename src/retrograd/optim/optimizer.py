"""Optimizer: groups of parameters with their settings, and the state that steps leave behind."""
from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

import retrograd as torch
from retrograd import Tensor
from retrograd.autograd.profiler import profiler_enabled, record_function
from retrograd.utils._foreach_utils import _group_tensors_by_device_and_dtype
from retrograd.utils.hooks import RemovableHandle

__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]

Hook = Callable[..., Any]
ParamsT = Iterable[Any]


class Required:
    """Stands for a setting that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = Required()
global_pre_hooks: OrderedDict[int, Hook] = OrderedDict()
global_post_hooks: OrderedDict[int, Hook] = OrderedDict()


def add_hook(hooks: Any, hook: Hook, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer.

    >>> from retrograd import nn, ones, optim
    >>> from retrograd.optim.optimizer import register_optimizer_step_pre_hook
    >>> handle = register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> optim.SGD([nn.Parameter(ones(1))]).step()
    SGD
    >>> handle.remove()
    """
    return add_hook(global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer.

    >>> from retrograd import nn, ones, optim
    >>> from retrograd.optim.optimizer import register_optimizer_step_post_hook
    >>> handle = register_optimizer_step_post_hook(lambda optimizer, args, kwargs: print(type(optimizer).__name__))
    >>> optim.SGD([nn.Parameter(ones(1))]).step()
    SGD
    >>> handle.remove()
    """
    return add_hook(global_post_hooks, hook)


def with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """A class's `step`, surrounded by the hooks and seen by a profiler."""
    @functools.wraps(step)
    def hooked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if profiler_enabled():
            with record_function(f"Optimizer.step#{type(self).__name__}.step"):
                return run_with_hooks(step, self, args, kwargs)
        own = self.__dict__
        if own.get("_optimizer_step_pre_hooks") or own.get("_optimizer_step_post_hooks") or global_pre_hooks or (
                global_post_hooks):
            return run_with_hooks(step, self, args, kwargs)
        return step(self, *args, **kwargs)
    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def run_with_hooks(step: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    before, after = self.__dict__.get("_optimizer_step_pre_hooks"), self.__dict__.get("_optimizer_step_post_hooks")
    everything = (self, *args)
    for hook in chain(list(global_pre_hooks.values()), list((before or {}).values())):
        result = hook(self, everything, kwargs)
        if result is not None:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {result}.")
            everything, kwargs = result
    made = step(*everything, **kwargs)
    for hook in chain(list((after or {}).values()), list(global_post_hooks.values())):
        hook(self, everything, kwargs)
    return made


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """What the closure that recomputes the loss returns, if there is one; it needs gradients."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The kinds of devices on which a step can be captured in a graph: none of them is here."""
    return ["cuda", "xpu", "hpu", "privateuseone", *["xla"] * supports_xla]



class Optimizer:
    """The base class of optimizers; a subclass defines `step`.

    >>> from retrograd import nn, ones, optim
    >>> w = nn.Parameter(ones(2))
    >>> optimizer = optim.SGD([w], lr=0.5)
    >>> w.sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._hook_stores()
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                            + params.type())
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _hook_stores(self) -> None:
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre",
                     "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())

    def _patch_step_function(self) -> None:
        """Let the class's `step` run hooks; a subclass that never comes here keeps its own `step` as it is."""
        cls = type(self)
        if not getattr(cls.step, "hooked", None):
            cls.step = with_hooks(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._hook_stores()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # ---- hooks
    def register_step_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("about to step"))
        >>> optimizer.step()
        about to step
        """
        return add_hook(self._optimizer_step_pre_hooks, hook)  # type: ignore[attr-defined]

    def register_step_post_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: w.data.clamp_(min=0))
        >>> w.grad = torch.tensor([8.0])
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.])
        """
        return add_hook(self._optimizer_step_post_hooks, hook)  # type: ignore[attr-defined]

    def register_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict`.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("saving"))
        >>> _ = optimizer.state_dict()
        saving
        """
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after `state_dict`; it may return a replacement.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "version": 2})
        >>> optimizer.state_dict()["version"]
        2
        """
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_load_state_dict_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return a replacement.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> def without_version(optimizer, state):
        ...     return {key: value for key, value in state.items() if key != "version"}
        >>> handle = optimizer.register_load_state_dict_pre_hook(without_version)
        >>> optimizer.load_state_dict({**optimizer.state_dict(), "version": 2})
        >>> sorted(optimizer.state_dict())
        ['param_groups', 'state']
        """
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)  # type: ignore[attr-defined]

    def register_load_state_dict_post_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after loading.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)  # type: ignore[attr-defined]

    # ---- state
    def state_dict(self) -> dict[str, Any]:
        """The state and the settings, with parameters replaced by their numbers.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> state = optimizer.state_dict()
        >>> state["param_groups"][0]["lr"], state["param_groups"][0]["params"]
        (0.5, [0])
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            hook(self)
        numbers: dict[int, int] = {}
        groups, start = [], 0
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for i, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), i)
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {numbers[id(key)] if isinstance(key, Tensor) else key: value for key, value in self.state.items()}
        made: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            result = hook(self, made)
            made = made if result is None else result
        return made

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the state and settings of `state_dict`.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> saved = optimizer.state_dict()
        >>> later = torch.optim.SGD([w], lr=0.1)
        >>> later.load_state_dict(saved)
        >>> later.param_groups[0]["lr"]
        0.5
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():  # type: ignore[attr-defined]
            result = hook(self, state_dict)
            state_dict = state_dict if result is None else result
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any([len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)]):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        params = dict(zip(chain.from_iterable(s["params"] for s in saved), chain.from_iterable(g["params"] for g in groups),
                          strict=True))
        state: Any = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = cast(params[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        updated = []
        for group, loaded in zip(groups, saved, strict=True):
            loaded["params"] = group["params"]
            if "param_names" in group and "param_names" not in loaded:
                loaded["param_names"] = group["param_names"]
            updated.append(loaded)
        self.__setstate__({"state": state, "param_groups": updated})
        for hook in self._optimizer_load_state_dict_post_hooks.values():  # type: ignore[attr-defined]
            hook(self)

    _group_tensors_by_device_and_dtype = staticmethod(_group_tensors_by_device_and_dtype)

    @staticmethod
    def _process_value_according_to_param_policy(param: Any, value: Any, param_id: Any, param_groups: Any,
                                                 key: Any = None) -> Any:
        """A loaded tensor in the dtype and on the device of its parameter; the count of steps has its own."""
        group: dict[str, Any] = next((group for group in param_groups if param_id in group["params"]), {})
        if key == "step":
            special = group.get("capturable", False) or group.get("fused", False)
            return value.to(dtype=torch.float32, device=param.device) if special else value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # ---- use
    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> w.sum().backward()
        >>> optimizer.zero_grad(set_to_none=False)
        >>> w.grad
        tensor([0.])
        >>> optimizer.zero_grad()
        >>> print(w.grad)
        None
        """
        if profiler_enabled():
            with record_function(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._zero_grads(set_to_none)
        else:
            self._zero_grads(set_to_none)

    def _zero_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                    continue
                if param.grad is None:
                    continue
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; `closure` recomputes the loss.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w * w).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item(), w.item()
        (1.0, 0.0)
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own.

        >>> import retrograd as torch
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> optimizer = torch.optim.SGD([w], lr=0.5)
        >>> optimizer.add_param_group({"params": torch.zeros(2, requires_grad=True), "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.5, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors "
                            "in sets will change between runs. Please use a list instead.")
        else:
            param_group["params"] = list(params)
        self._split_names(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + type(param).__name__)
            if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len(param_group["params"]) != len({id(p) for p in param_group["params"]}):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                          "error; see github.com/pytorch/pytorch/issues/40967 for more information", stacklevel=3)
        named = "param_names" in param_group
        if any([("param_names" in group) != named for group in self.param_groups]):
            raise ValueError("all optimizer param groups should be with/without names. cannot add param group "
                             f"{'with names' if named else 'without names'} to the optimizer")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any([id(p) in known for p in param_group["params"]]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _split_names(self, param_group: dict[str, Any]) -> None:
        """(name, parameter) pairs become two lists."""
        named = [p for p in param_group["params"] if isinstance(p, tuple)]
        if not named:
            return
        if len(named) != len(param_group["params"]):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["params"] = [pair[1] for pair in named]
        param_group["param_names"] = [pair[0] for pair in named]


def cast(param: Any, value: Any, param_id: Any, groups: Any, key: Any = None) -> Any:
    """Loaded state as the parameter wants it, inside dictionaries and other containers too."""
    if isinstance(value, Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, param_id, groups, key)
    if isinstance(value, dict):
        return {k: cast(param, v, param_id, groups, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(cast(param, v, param_id, groups) for v in value)  # type: ignore[call-arg]
    return value
