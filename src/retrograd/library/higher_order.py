"""Operators that take functions: their rules are Python functions, one for each layer that they go through."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any

from retrograd._functorch.levels import TransformType
from retrograd._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from retrograd.core.api import Namespace, ops
from retrograd.core.dispatch_keys import DispatchKey
from retrograd.core.modes import TorchDispatchMode, overriding_arguments
from retrograd.core.state import tls
from retrograd.core.tensor import FLAG_META, FLAG_SPARSE, Tensor
from retrograd.library.layers import here
from retrograd.overrides import handle_torch_function, has_torch_function
from retrograd.transforms.trees import flatten

__all__ = ["HigherOrderOperator"]

REGISTERED: dict[str, Any] = {}
# declared when first asked for
LATER = {**dict.fromkeys(("associative_scan", "cond", "map_impl", "scan", "while_loop"), "operators"),
         **dict.fromkeys(("auto_functionalized", "auto_functionalized_v2", "run_and_save_rng_state", "run_with_rng_state"),
                         "effects"),
         **dict.fromkeys(("flex_attention", "invoke_quant", "invoke_quant_packed", "invoke_subgraph", "register_hook"),
                         "regions")}


class HigherOrderNamespace(Namespace):
    """`ops.higher_order`: operators that take functions, by name."""

    def __getattr__(self, name: str) -> Any:
        if name not in REGISTERED and name in LATER:
            import_module(f"retrograd._higher_order_ops.{LATER[name]}")
        if name not in REGISTERED:
            raise AttributeError(f"'_HigherOrderNamespace' 'torch.ops.higher_order' object has no attribute '{name}'")
        return REGISTERED[name]


ops.higher_order = HigherOrderNamespace("higher_order")


class HigherOrderOperator(ABC):
    """An operator whose arguments may be functions; `py_impl` gives it a rule for a layer, a mode or a transform.

    >>> import retrograd as torch
    >>> class Twice(HigherOrderOperator):
    ...     def __init__(self):
    ...         super().__init__("doctest_twice")
    ...     def __call__(self, f, x):
    ...         return super().__call__(f, x)
    >>> twice = Twice()
    >>> @twice.py_impl(DispatchKey.Autograd)
    ... def rule(f, x):
    ...     return f(f(x))
    >>> twice(torch.exp, torch.zeros(1))
    tensor([2.7183])
    """

    def __init__(self, name: str, *, cacheable: bool = False) -> None:
        self._name = name
        self.__name__ = name
        self.__module__ = "torch.ops.higher_order"
        self._ns = "higher_order"
        self._cacheable = cacheable
        self.py_kernels: dict[Any, Any] = {}
        self.functorch_table: dict[Any, Any] = {}
        self.python_key_table: dict[Any, Any] = {}
        self.falls_through: set[Any] = set()
        REGISTERED[name] = self
        self.fallthrough(DispatchKey.AutocastCPU)

    @property
    def namespace(self) -> str:
        return self._ns

    def name(self) -> str:
        return self._name

    def __str__(self) -> str:
        return self._name

    def cacheable(self) -> bool:
        return self._cacheable

    def py_impl(self, k: Any) -> Callable[[Any], Any]:
        """A decorator that gives a rule for a dispatch key, a transform, a mode or a tensor subclass."""
        def inner(fn: Any) -> Any:
            if isinstance(k, TransformType):
                table: dict[Any, Any] = self.functorch_table
            elif isinstance(k, type) and (issubclass(k, (TorchDispatchMode, Tensor))):
                if k in self.python_key_table:
                    raise AssertionError(f"{k} already registered in python_key_table")
                table = self.python_key_table
            else:
                table = self.py_kernels
                if k in table:
                    raise RuntimeError(f"Trying to override a python impl for {k} on operator {self.name()}")
                self.falls_through.discard(k)
            table[k] = fn
            return fn
        return inner

    def has_kernel_for_dispatch_key(self, k: Any) -> bool:
        return k in self.py_kernels

    def fallthrough(self, dispatch_key: Any) -> None:
        """Let a layer pass the operator on to the next one."""
        self.falls_through.add(dispatch_key)

    @abstractmethod
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator from the outermost layer."""
        leaves = flatten([args, kwargs])[0]
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        if has_torch_function(leaves):
            return handle_torch_function(self, leaves, *args, **kwargs)
        if tls.transforms:
            return retrieve_current_functorch_interpreter().process(self, args, kwargs)
        return self.at_autograd(tensors, args, kwargs)

    def at_autograd(self, tensors: list[Any], args: Any, kwargs: Any) -> Any:
        backend = backend_of(tensors)
        if tensors and not (tls.below or here.below or tls.inference):
            specific = getattr(DispatchKey, f"Autograd{backend.name}", DispatchKey.Autograd)
            for key in (specific, DispatchKey.Autograd):
                if key in self.py_kernels:
                    return self.py_kernels[key](*args, **kwargs)
            if not {specific, DispatchKey.Autograd} & self.falls_through:
                raise self.no_kernel(specific)
        if tls.dispatch_modes:
            return self.through_mode(args, kwargs)
        overriding = [] if tls.dispatch_disabled else overriding_arguments(tensors)
        if overriding:
            return self.through_subclass(overriding, args, kwargs)
        for key in (backend, DispatchKey.CompositeExplicitAutograd, DispatchKey.CompositeImplicitAutograd):
            if key in self.py_kernels:
                return self.py_kernels[key](*args, **kwargs)
        raise self.no_kernel(backend)

    def no_kernel(self, key: Any) -> NotImplementedError:
        return NotImplementedError(f"could not find kernel for HigherOrderOperator {self._name} at dispatch key {key} "
                                   f"(resolved from {key})")

    def through_mode(self, args: Any, kwargs: Any) -> Any:
        mode = tls.dispatch_modes.pop()
        was, tls.below = tls.below, True
        try:
            rule = self.python_key_table.get(type(mode))
            if rule is not None:
                return rule(mode, *args, **kwargs)
            if getattr(mode, "supports_higher_order_operators", False):
                result = mode.__torch_dispatch__(self, (), args, kwargs)
                if result is not NotImplemented:
                    return result
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and mode {mode}.Hint: set {mode}'s "
                "supports_higher_order_operators to True. This causes all higher order operators to pass through "
                f"{mode}'s __torch_dispatch__, so handle them accordingly by adding support for HigerOrderOperators (in this "
                f"case, {self._name}) in {mode}.__torch_dispatch__ or returning NotImplemented when not supported.")
        finally:
            tls.below = was
            tls.dispatch_modes.append(mode)

    def through_subclass(self, overriding: list[Any], args: Any, kwargs: Any) -> Any:
        for t in overriding:
            rule = self.python_key_table.get(type(t))
            if rule is not None:
                result = rule(*args, **kwargs)
                if result is not NotImplemented:
                    return result
        raise NotImplementedError(f"There was no rule registered for HOP {self._name} and subclass {type(overriding[0])}. We "
                                  "recommend filing an issue.")


def backend_of(tensors: list[Any]) -> Any:
    flags = 0
    for t in tensors:
        flags |= t._flags
    return DispatchKey.SparseCPU if flags & FLAG_SPARSE else DispatchKey.Meta if flags & FLAG_META else DispatchKey.CPU
