"""The `__torch_function__` protocol under PyTorch's names: functions that take tensors and let other types take over."""
from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from retrograd.core import api, subclass
from retrograd.core.modes import enable_reentrant_dispatch
from retrograd.core.state import tls
from retrograd.core.subclass import (
    BaseTorchFunctionMode,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    disabled_torch_function,
    overrides_function,
    resolve_name,
)
from retrograd.core.tensor import Tensor
from retrograd.ops.load import load_all

__all__ = ["BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "disabled_torch_function",
           "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
           "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
           "resolve_name", "wrap_torch_function"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments must go to `handle_torch_function`.

    >>> import retrograd as torch
    >>> has_torch_function([torch.ones(1), 2])
    False
    """
    if tls.function_modes and tls.function_disabled < 2:
        return True
    return not tls.function_disabled and any([overrides_function(type(a)) for a in relevant_args])


def handle_torch_function(public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any) -> Any:
    """Call `public_api` by way of the modes and `relevant_args` that override it.

    >>> class Anything:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return f"{func.__name__} was called"
    >>> def mean_of(t):
    ...     if has_torch_function((t,)):
    ...         return handle_torch_function(mean_of, (t,), t)
    ...     return t.mean()
    >>> mean_of(Anything())
    'mean_of was called'
    """
    overriding = subclass.overriding_arguments(tuple(relevant_args), {})
    types = tuple([type(t) for t in overriding])
    modes = tls.function_modes
    if modes and tls.function_disabled < 2:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    for t in overriding:
        result = t.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: "
                    f"{[type(t) for t in overriding]}" + (f" nor in mode {modes[-1]}" if modes else ""))


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that makes a function overridable; `dispatcher` says which of its arguments may override it.

    >>> @wrap_torch_function(lambda t: (t,))
    ... def double(t):
    ...     return t * 2
    >>> double(4)
    8
    """
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)
        return wrapped
    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether `inp` is a tensor or takes part in the protocol.

    >>> is_tensor_like(3)
    False
    """
    return type(inp) is Tensor or hasattr(inp, "__torch_function__")


def get_default_nowrap_functions() -> set[Any]:
    """What the default `__torch_function__` does not turn into the subclass.

    >>> import retrograd as torch
    >>> torch.Tensor.grad.__get__ in get_default_nowrap_functions()
    True
    """
    return subclass.nowrap_functions()


def get_overridable_functions() -> dict[Any, list[Any]]:
    """All functions that take part, by where they are: Tensor's methods, and the functions of the package ("torch").

    >>> import retrograd as torch
    >>> torch.sin in get_overridable_functions()["torch"]
    True
    """
    load_all()
    methods = {**api.TENSOR_METHODS, **api.EXTRA_METHODS}
    functions = {**api.FUNCTIONS, **api.EXTRA_FUNCTIONS}
    return {Tensor: list(methods.values()), "torch": list(functions.values())}


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether `func` belongs to Tensor rather than to the package.

    >>> import retrograd as torch
    >>> is_tensor_method_or_property(torch.Tensor.sin), is_tensor_method_or_property(torch.sin)
    (True, False)
    """
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(Tensor, name, None) is func


def _get_current_function_mode_stack() -> list[Any]:
    """The modes in force, from the outermost in."""
    return list(tls.function_modes)


def _get_current_function_mode() -> Any:
    """The innermost mode in force, or None."""
    return tls.function_modes[-1] if tls.function_modes else None


def get_ignored_functions() -> set[Any]:
    """Public functions that take no part, because they take no tensors or make them from nothing.

    >>> import retrograd as torch
    >>> torch.zeros in get_ignored_functions(), torch.sin in get_ignored_functions()
    (True, False)
    """
    load_all()
    functions = {**api.FUNCTIONS, **api.EXTRA_FUNCTIONS}
    return {function for name, function in functions.items() if name in IGNORED}


IGNORED = frozenset("""
    typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device set_rng_state get_rng_state
    manual_seed initial_seed seed save load set_printoptions fork from_numpy tensor arange as_tensor bartlett_window
    blackman_window complex empty empty_strided eye from_file full hamming_window hann_window kaiser_window linspace logspace
    normal ones promote_types rand randn randperm range result_type scalar_tensor sparse_coo_tensor sparse_compressed_tensor
    sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor tril_indices triu_indices zeros can_cast randint
    asarray from_dlpack get_default_dtype set_default_dtype is_grad_enabled set_grad_enabled
""".split())


def get_testing_overrides() -> dict[Any, Any]:
    """For every function that takes part, one with the same parameters that returns -1.

    >>> import retrograd as torch
    >>> get_testing_overrides()[torch.sin](torch.ones(1))
    -1
    """
    made = {}
    for functions in get_overridable_functions().values():
        for function in functions:
            if callable(function):
                made[function] = lambda *args, **kwargs: -1
    return made
