"""`autocast`, the scope in which some ops compute in a lower precision, and the functions that read and set its state."""
from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from retrograd.core import autocast as rule
from retrograd.core.device import device
from retrograd.core.dtypes import bfloat16, float16
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast works on a kind of device.

    >>> is_autocast_available("cpu")
    True
    """
    return device(device_type).type == "cpu"


class autocast:
    """Within this scope (or decorated function) matrix products and convolutions compute in bfloat16 or float16.

    >>> import retrograd as torch
    >>> with autocast("cpu", dtype=torch.bfloat16):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, device_type: str, dtype: Any = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = device(device_type).type
        if self.device == "meta":
            raise RuntimeError("unsupported scalarType")
        self.fast_dtype = get_autocast_dtype(self.device) if dtype is None else dtype
        if self.device == "cuda" and enabled:
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn("In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only "
                          "supports dtypes of torch.bfloat16, torch.float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        self._before.append((tls.autocast is not None, rule.state.dtype, rule.state.cache_enabled))
        if self.device == "cpu":
            rule.use_dtype(self.fast_dtype)
            rule.enable(self._enabled)
        rule.state.cache_enabled = self._cache_enabled
        rule.state.nesting += 1
        return self

    def __exit__(self, *args: object) -> None:
        rule.state.nesting -= 1
        if rule.state.nesting == 0:
            rule.state.casts.clear()
        enabled, dtype, rule.state.cache_enabled = self._before.pop()
        rule.use_dtype(dtype)
        rule.enable(enabled)

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(func):
            raise TypeError(f"autocast()(func) requires a callable, but got {type(func).__name__}. Did you mean to use "
                            "autocast as a context manager? For example:\n    with torch.autocast(device_type=...):\n"
                            "        output = model(input)")
        @functools.wraps(func)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self:
                return func(*args, **kwargs)
        return decorated


# ---- custom Functions
def custom_fwd(fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: Any = None) -> Callable[..., Any]:
    """Decorates the forward of a custom Function: with `cast_inputs` it runs in that dtype, without autocast.

    >>> import retrograd as torch
    >>> @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ... def forward(ctx, x):
    ...     return x.dtype
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        ctx._dtype = get_autocast_dtype(device_type)
        on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = on and cast_inputs is None
        if cast_inputs is None or not on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *converted(args, cast_inputs), **converted(kwargs, cast_inputs))
    return decorated


def converted(value: Any, dtype: Any) -> Any:
    if isinstance(value, Tensor):
        fits = value.dtype.is_floating_point and value.dtype.name != "float64"
        return value.to(dtype) if fits else value
    if isinstance(value, dict):
        return {converted(k, dtype): converted(v, dtype) for k, v in value.items()}
    return type(value)([converted(v, dtype) for v in value]) if isinstance(value, (list, tuple)) else value


def _cast(value: Any, device_type: str, dtype: Any) -> Any:
    """The floating-point tensors of a device in `value` and its containers with another dtype; float64 stays.

    >>> import retrograd as torch
    >>> _cast([torch.ones(1), torch.ones(1).double()], "cpu", torch.bfloat16)
    [tensor([1.], dtype=torch.bfloat16), tensor([1.], dtype=torch.float64)]
    """
    if isinstance(value, Tensor) and value.device.type != device_type or isinstance(value, (str, bytes)):
        return value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([_cast(v, device_type, dtype) for v in value])
    return converted(value, dtype)


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the backward of a custom Function: it runs with the autocast state of its forward.

    >>> custom_bwd(device_type="cpu")(lambda ctx, grad: grad).__name__
    '<lambda>'
    """
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)
    return decorated


# ---- the state
def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on for a kind of device ("cuda" if none is named).

    >>> is_autocast_enabled("cpu")
    False
    """
    return device_type is not None and device(device_type).type == "cpu" and tls.autocast is not None


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast for a kind of device.

    >>> set_autocast_enabled("cpu", False)
    """
    if device(device_type).type == "cpu":
        rule.enable(enabled)


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that autocast computes in.

    >>> get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return rule.state.dtype if device(device_type).type == "cpu" else float16


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype that autocast computes in.

    >>> set_autocast_dtype("cpu", bfloat16)
    """
    if device(device_type).type == "cpu":
        rule.use_dtype(dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether casts of leaves are kept until the outermost scope ends.

    >>> is_autocast_cache_enabled()
    True
    """
    return rule.state.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Switch the keeping of casts.

    >>> set_autocast_cache_enabled(True)
    """
    rule.state.cache_enabled = enabled


def clear_autocast_cache() -> None:
    """Forget the casts that were kept.

    >>> clear_autocast_cache()
    """
    rule.state.casts.clear()


def autocast_increment_nesting() -> int:
    """Enter one more scope, for those who do by hand what `autocast` does; returns the new depth.

    >>> autocast_increment_nesting(), autocast_decrement_nesting()
    (1, 0)
    """
    rule.state.nesting += 1
    return rule.state.nesting


def autocast_decrement_nesting() -> int:
    """Leave a scope entered with `autocast_increment_nesting`; returns the new depth."""
    rule.state.nesting -= 1
    return rule.state.nesting


# ---- names from before devices were arguments
def is_autocast_cpu_enabled() -> bool:
    """Use `is_autocast_enabled("cpu")`."""
    deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Use `set_autocast_enabled("cpu", enabled)`."""
    deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """Use `get_autocast_dtype("cpu")`."""
    deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Use `set_autocast_dtype("cpu", dtype)`."""
    deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def deprecated(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)
