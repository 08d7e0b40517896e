"""The `__torch_function__` protocol under PyTorch's names: functions that take tensors and let other types take over."""
from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from keyword import iskeyword
from typing import Any

from retrograd.core import api, subclass
from retrograd.core.modes import enable_reentrant_dispatch
from retrograd.core.opdef import find_packet
from retrograd.core.schema import REQUIRED
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
from retrograd.methods import FIELD_NAMES, PROPERTIES
from retrograd.methods import PLAIN as METHODS
from retrograd.ops.load import load_all

may_override: Any = getattr(api.binder, "may_override", None)      # a quick look, in the compiled core
__all__ = ["BaseTorchFunctionMode", "DisableTorchFunctionSubclass", "TorchFunctionMode", "disabled_torch_function",
           "enable_reentrant_dispatch", "get_default_nowrap_functions", "get_ignored_functions", "get_overridable_functions",
           "get_testing_overrides",
           "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property",
           "redispatch_function", "resolve_name", "wrap_torch_function"]


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether a call with these arguments must go to `handle_torch_function`.

    >>> import retrograd as torch
    >>> has_torch_function([torch.ones(1), 2])
    False
    """
    if may_override is not None and type(relevant_args) is tuple and not may_override(relevant_args):
        return False
    if tls.function_disabled == SKIPPED:            # this is the check that redispatch_function skips
        tls.function_disabled = skipped.before
        return False
    if tls.function_modes and tls.function_disabled < 2:
        return True
    return not tls.function_disabled and any([overrides_function(type(a)) for a in relevant_args])


SKIPPED = 3                         # a state of tls.function_disabled: until the next check
skipped = threading.local()


def redispatch_function(func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
    """Call a function past the handler that calls this; handlers see the functions that it calls itself.

    >>> import retrograd as torch
    >>> class Counting(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         with self:
    ...             return redispatch_function(func, types, args, kwargs)
    >>> x = torch.ones(1)
    >>> with Counting():
    ...     y = x.add(1)
    add
    >>> y
    tensor([2.])
    """
    before = tls.function_disabled
    skipped.before, tls.function_disabled = before, SKIPPED
    try:
        return func(*args, **(kwargs or {}))
    finally:
        tls.function_disabled = before


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
    relevant_args = tuple(relevant_args)
    overriding = subclass.overriding_arguments(relevant_args, {})
    types = subclass.types_of_protocol(relevant_args)
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
    """All functions that take part, by where they are: Tensor, its attributes, `torch` and its modules of functions.

    >>> import retrograd as torch
    >>> torch.sin in get_overridable_functions()[torch]
    True
    """
    load_all()
    torch = import_module(__package__)
    functional, nn_functional = import_module(f"{__package__}.functional"), import_module(f"{__package__}.nn.functional")
    init = import_module(f"{__package__}.nn.init")
    older = [getattr(functional, name) for name in functional.NAMES if name not in ("pca_lowrank", "svd_lowrank", "istft")]
    for function in older:
        function.__module__ = "torch.functional"
    if sys.modules.get("torch") is torch:           # then this module can be imported
        for name in BUILT_IN:
            getattr(nn_functional, name).__module__ = "torch._C._nn"
    ignored = get_ignored_functions()
    of_torch = [f for name in [*sorted(api.PUBLIC), *OF_TORCH] if callable(f := getattr(torch, name))
                and f not in ignored and not isinstance(f, type) and f not in older]
    of_nn = [f for name in nn_functional.__all__ if name not in ("sigmoid", "tanh") and callable(
        f := getattr(nn_functional, name)) and not isinstance(f, type) and f not in of_torch]
    found: dict[Any, list[Any]] = {torch: of_torch, functional: older, nn_functional: of_nn,
                                   Tensor: tensor_methods(),
                                   init: [getattr(init, name) for name in OF_INIT]}
    collectives = import_module(f"{__package__}.distributed.distributed_c10d")
    found[collectives] = [getattr(collectives, name) for name in OF_DISTRIBUTED]
    for name in ("linalg", "fft", "special"):
        module = import_module(f"{__package__}.{name}")
        found[module] = [getattr(module, function) for function in module.NAMES]
    for attribute in tensor_attributes():
        found[attribute] = [attribute.__get__]
    return found


def tensor_methods() -> list[Any]:
    """The methods and operators of Tensor that take part."""
    names = [*api.TENSOR_METHODS, *api.EXTRA_METHODS, *METHODS, *OPERATORS]
    return list({id(f): f for name in names if name != "__iter__" and callable(f := getattr(Tensor, name, None))}.values())


def tensor_attributes() -> list[Any]:
    """The attributes of Tensor whose reading takes part."""
    return [getattr(Tensor, name) for name in (*PROPERTIES, *FIELD_NAMES)]


# Functions that are written in Python outside of the op tables.
OF_TORCH = ("gru", "lstm", "rnn_relu", "rnn_tanh",
            "lobpcg", "pca_lowrank", "svd_lowrank", "_sym_acos", "_sym_asin", "_sym_atan", "_sym_cos", "_sym_cosh",
            "_sym_sin", "_sym_sinh", "_sym_sqrt", "_sym_tan", "_sym_tanh", "sym_float", "sym_int", "sym_ite", "sym_max",
            "sym_min", "sym_not", "sym_sum", "fused_moving_avg_obs_fake_quant", "hsmm", "native_norm", "saddmm")
OF_DISTRIBUTED = ("all_gather", "all_gather_coalesced", "all_reduce", "all_reduce_coalesced", "all_to_all",
                  "all_to_all_single", "broadcast", "gather", "irecv", "isend", "recv", "reduce", "reduce_scatter", "scatter",
                  "send")
# Functions of nn.functional that are PyTorch's own in C.
BUILT_IN = ("avg_pool2d", "avg_pool3d", "gelu", "linear", "logsigmoid", "one_hot", "scaled_dot_product_attention", "softplus",
            "softshrink")
OF_INIT = ("constant_", "kaiming_uniform_", "normal_", "uniform_")


OPERATORS = """
    __add__ __radd__ __iadd__ __sub__ __rsub__ __isub__ __mul__ __rmul__ __imul__ __truediv__ __floordiv__ __rfloordiv__
    __ifloordiv__ __mod__ __rmod__ __imod__ __pow__ __rpow__ __ipow__ __matmul__ __rmatmul__
    __lshift__ __rlshift__ __ilshift__ __rshift__
    __rrshift__ __irshift__ __and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ __ixor__ __invert__ __eq__ __ne__
    __lt__ __le__ __gt__ __ge__ __bool__ __int__ __float__ __complex__ __index__ __len__ __contains__ __getitem__ __setitem__
    __array__ __array_wrap__ __deepcopy__ __format__ __reduce_ex__ __repr__ __reversed__ __dlpack__ __dlpack_device__
""".split()


BINARY = frozenset("""
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __floordiv__ __rfloordiv__ __mod__ __rmod__ __matmul__
    __rmatmul__ __lshift__ __rlshift__ __rshift__ __rrshift__ __and__ __rand__ __or__ __ror__ __xor__ __rxor__
""".split())


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
    torch = import_module(__package__)
    return {getattr(torch, name) for name in IGNORED if hasattr(torch, name)} | {
        getattr(Tensor, name) for name in IGNORED_METHODS if hasattr(Tensor, name)}


IGNORED = frozenset("""
    typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device set_rng_state get_rng_state
    manual_seed initial_seed seed save load set_printoptions fork from_numpy tensor arange as_tensor bartlett_window
    blackman_window empty empty_strided eye from_file full hamming_window hann_window kaiser_window linspace logspace
    normal ones promote_types rand randn randperm range result_type scalar_tensor sparse_coo_tensor sparse_compressed_tensor
    sparse_csr_tensor sparse_csc_tensor sparse_bsr_tensor sparse_bsc_tensor tril_indices triu_indices zeros can_cast randint
    asarray from_dlpack get_default_dtype set_default_dtype is_grad_enabled set_grad_enabled
""".split())
IGNORED_METHODS = frozenset("""
    __class__ __delattr__ __delitem__ __dir__ __getattribute__ __hash__ __init__ __init_subclass__ __iter__ __new__
    __setattr__ __subclasshook__ __torch_dispatch__ __torch_function__ _addmm_activation _conj _conj_physical _fix_weakref
    _is_all_true _is_any_true _is_zerotensor _make_subclass _make_wrapper_subclass _neg_view _to_sparse _to_sparse_bsc
    _to_sparse_bsr _to_sparse_csc _to_sparse_csr _typed_storage _view_func as_subclass eig lstsq new new_empty
    new_empty_strided new_full new_ones new_tensor new_zeros reinforce solve stride symeig to_padded_tensor to_sparse_bsc
    to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr unflatten
""".split())



def get_testing_overrides() -> dict[Any, Any]:
    """For every function that takes part, one with the same parameters that returns -1.

    >>> import retrograd as torch
    >>> get_testing_overrides()[torch.sin](torch.ones(1))
    -1
    """
    return {function: stand_in(function) for functions in get_overridable_functions().values() for function in functions}


def stand_in(function: Any) -> Any:
    """A function with the parameters of another that returns -1."""
    def made(*args: Any, **kwargs: Any) -> int:
        return -1
    made.__signature__ = signature_of(function)  # type: ignore[attr-defined]
    return made


def signature_of(function: Any) -> inspect.Signature:
    """The parameters of a function: of an op those of the overload that needs fewest."""
    if getattr(function, "__name__", "") == "__get__":      # reading an attribute
        return inspect.Signature([inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)])
    name = getattr(function, "__name__", "")
    if name in BINARY:                            # compiled operators do not say what they take
        return inspect.Signature([inspect.Parameter(p, inspect.Parameter.POSITIONAL_ONLY) for p in ("self", "other")])
    packet = None if name.startswith("__") else find_packet(name)
    if packet is not None and not hasattr(function, "__wrapped__"):
        schema = min(packet.schemas, key=lambda schema: sum([param.default is REQUIRED for param in schema.params]))
        return inspect.Signature([parameter_of(param) for param in schema.params if not param.kwarg_only])
    try:
        given = inspect.signature(getattr(function, "__wrapped__", function))
    except ValueError:
        return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)])
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return inspect.Signature([p for p in given.parameters.values() if p.kind in kinds])


def parameter_of(param: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if param.default is REQUIRED else param.default
    name = "input" if param.name == "self" else param.name
    return inspect.Parameter(f"{name}_" if iskeyword(name) else name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


# ---- the protocol's parts under the names that PyTorch has for them
def has_torch_function_unary(arg: Any) -> bool:
    """`has_torch_function` of one argument."""
    return has_torch_function((arg,))


def has_torch_function_variadic(*args: Any) -> bool:
    """`has_torch_function` of the arguments themselves."""
    return has_torch_function(args)


def _get_overloaded_args(relevant_args: Iterable[Any], get_type_fn: Any = type) -> list[Any]:
    """One argument of each type that overrides, in the order in which they are asked."""
    return subclass.overriding_arguments(tuple(relevant_args), {})


def _len_torch_function_stack() -> int:
    """How many modes are in force."""
    return len(tls.function_modes)


def _push_mode(mode: Any) -> None:
    """Put a mode in force."""
    mode.__enter__()


def _pop_mode() -> Any:
    """Take the innermost mode out of force, and return it."""
    mode = tls.function_modes[-1]
    mode.__exit__(None, None, None)
    return mode


@contextmanager
def _pop_mode_temporarily() -> Iterator[Any]:
    """A scope without the innermost mode, which it gives."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


def _get_overridable_functions() -> tuple[dict[Any, list[Any]], dict[Any, str]]:
    """The functions that take part by where they are, and the name of each."""
    found = get_overridable_functions()
    return found, {function: str(resolve_name(function)) for functions in found.values() for function in functions}


def _get_tensor_methods() -> set[Any]:
    """The methods and operators of Tensor that take part."""
    return set(tensor_methods())


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode is in force.

    >>> _is_torch_function_mode_enabled()
    False
    """
    return bool(tls.function_modes) and tls.function_disabled < 2
