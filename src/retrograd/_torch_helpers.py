"""More stand-ins for private functions of PyTorch: of optimizers, graphs and the inference of schemas."""
from __future__ import annotations

import functools
import operator
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import retrograd as torch
from retrograd.fx import _codegen
from retrograd.nn.modules._hooks import everywhere

# ---- nn.modules.module: the hooks of all modules
BACKWARD_HOOKS, BACKWARD_PRE_HOOKS = everywhere.backward_hooks, everywhere.backward_pre_hooks
FORWARD_HOOKS, FORWARD_PRE_HOOKS = everywhere.forward_hooks, everywhere.forward_pre_hooks
FORWARD_HOOKS_ALWAYS_CALLED = everywhere.forward_hooks_always_called
FORWARD_HOOKS_WITH_KWARGS = everywhere.forward_hooks_with_kwargs


def has_hooks_of_all_modules() -> bool:
    return any([BACKWARD_HOOKS, BACKWARD_PRE_HOOKS, FORWARD_HOOKS, FORWARD_PRE_HOOKS])


# ---- optim
def number_of(x: Any) -> Any:
    """The number in a tensor of one element."""
    return x.item() if isinstance(x, torch.Tensor) else x


def unchanged_outside_of_compilers(x: Any) -> Any:
    return x


def square_root(x: Any) -> Any:
    """The square root of a tensor or a number."""
    return x.sqrt() if isinstance(x, torch.Tensor) else x ** 0.5


def as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Replace complex parameters, and what belongs to them, by their real views."""
    for i, p in enumerate(params):
        if p.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


def dtype_of_steps(is_fused: Any = None) -> Any:
    """The dtype of the number of steps in an optimizer's state."""
    return torch.float64 if torch.get_default_dtype() == torch.float64 and not is_fused else torch.float32


def without_compiler(single_tensor_fn: Any = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions that a compiler leaves alone where it does not support their arguments."""
    return lambda function: function


@contextmanager
def inside_of_step(scheduler: Any) -> Iterator[Any]:
    """`get_lr` of the scheduler is called by `step` inside."""
    scheduler._get_lr_called_within_step = True
    try:
        yield scheduler
    finally:
        scheduler._get_lr_called_within_step = False


def set_hyperparameter(group: dict[str, Any], key: str, value: Any) -> None:
    """Set a value of a parameter group; a tensor is filled in place."""
    if isinstance(group[key], torch.Tensor):
        group[key].fill_(number_of(value))
    else:
        group[key] = value


# ---- library
def list_of(tuple_type: Any) -> Any:
    """The type of lists of what a type of tuples holds.

    >>> list_of(tuple[int, ...]), list_of(tuple[int, str]), list_of(tuple)
    (list[int], list[int | str], <class 'list'>)
    """
    parts = typing.get_args(tuple_type)
    if not parts:
        return list
    if len(parts) == 1 or len(parts) == 2 and parts[1] is Ellipsis:
        return types.GenericAlias(list, (parts[0],))
    return types.GenericAlias(list, (functools.reduce(operator.or_, parts),))


# ---- fx
IN_PLACE_METHODS = {name: text for name, text in _codegen.IN_PLACE.items() if name != "setitem"}
MAGIC_METHODS = {name: text for name, text in _codegen.INFIX.items() if name != "getitem"}
REFLECTABLE_METHODS = {name: text for name, text in MAGIC_METHODS.items() if name not in (
    "eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert")}


class Scope:
    """The path and the class of the module that is being traced."""

    def __init__(self, module_path: str, module_type: Any) -> None:
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Sets a scope to another one inside.

    >>> scope = Scope("", None)
    >>> with ScopeContextManager(scope, Scope("linear", torch.nn.Linear)): print(scope.module_path)
    linear
    >>> scope.module_path
    ''
    """

    def __init__(self, scope: Scope, current_scope: Scope) -> None:
        self._scope, self._before = scope, (scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type

    def __enter__(self) -> Scope:
        return self._scope

    def __exit__(self, *args: object) -> None:
        self._scope.module_path, self._scope.module_type = self._before


def has_attribute(model: Any, attr_name: str) -> bool:
    """Whether a module has an attribute by its dotted name."""
    try:
        functools.reduce(getattr, attr_name.split("."), model)
    except AttributeError:
        return False
    return True


def delete_attribute(model: Any, attr_name: str) -> None:
    """Delete an attribute of a module by its dotted name."""
    *path, last = attr_name.split(".")
    delattr(functools.reduce(getattr, path, model), last)
