"""Subclasses of Tensor and the `__torch_function__` protocol: overriding public functions, and creating instances.

NOTE [What a subclass costs]
Nothing for programs without subclasses. Instances carry FLAG_SUBCLASS, which dispatch tests anyway; the plain attributes of
Tensor, which make no such test, are overlaid on each new subclass by ones that do. A class that
switches the protocol off (`__torch_function__ = disabled_torch_function`, as Parameter does) and does not override
`__torch_dispatch__` gets neither: its instances are as fast as plain tensors.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.core.described import check_policy, set_policy
from retrograd.core.device import CPU
from retrograd.core.dispatch import call
from retrograd.core.dtypes import get_default_dtype, is_inexact_type
from retrograd.core.hooks import hooks
from retrograd.core.modes import disabled_torch_dispatch, overrides_dispatch
from retrograd.core.opdef import OpDef, Packet, find_packet
from retrograd.core.origin import note_made
from retrograd.core.reserved import reserved_array
from retrograd.core.shadowed import shadow_fields
from retrograd.core.state import add_slow_path, switches, tls
from retrograd.core.storage import contiguous_strides
from retrograd.core.tensor import (
    FLAG_INFERENCE,
    FLAG_META,
    FLAG_PENDING,
    FLAG_SPARSE,
    FLAG_SUBCLASS,
    FLAG_WRAPPER,
    FUNCTIONS_BY_NAME,
    Tensor,
    counter_of,
    extra_of,
    init_tensor,
    install,
    new_tensor,
    refusal,
)


# ---- calling overrides
def through_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[Any, ...] | None = None) -> Any:
    """Call a public function through the modes and arguments that override it; `types` are passed to modes."""
    result = ask(function, args, kwargs, types)
    if result is NotImplemented:
        raise no_handler(function, args, kwargs)
    return result


# Functions and methods that PyTorch writes in Python: their refusal has another text.
IN_PYTHON = {
    "torch.functional": frozenset("""atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors
        cartesian_prod cdist chain_matmul einsum lu meshgrid norm pca_lowrank split stft svd_lowrank tensordot unique
        unique_consecutive unravel_index""".split()),
    "torch._tensor": frozenset("""__array__ __array_wrap__ __contains__ __deepcopy__ __dir__ __dlpack__ __dlpack_device__
        __format__ __hash__ __iter__ __len__ __repr__ __reversed__ __setstate__ align_to backward dim_order is_shared istft lu
        norm refine_names register_hook register_post_accumulate_grad_hook rename rename_ share_memory_ split stft storage
        storage_type to_sparse_coo unflatten unique unique_consecutive""".split()),
}


def no_handler(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> TypeError:
    """The error about a call whose handlers all return NotImplemented."""
    name = resolve_name(function)
    home, _, last = name.rpartition(".")
    module = "torch._tensor" if home == "torch.Tensor" else home
    if last in IN_PYTHON.get(module, ()) and not tls.function_modes:
        types = [type(t) for t in overriding_arguments(args, kwargs)]
        if module == "torch.functional" and any([type(t) is Tensor for value in args for t in (
                value if isinstance(value, (list, tuple)) else (value,))]):
            types.insert(0, Tensor)
        return TypeError(f"no implementation found for '{module}.{last}' on types that implement __torch_function__: {types}")
    part = home.removeprefix("torch.")
    if part in ("linalg", "fft", "special"):              # the names of the functions behind the public ones
        name = f"{home}.{part}_{last}"
    return TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n"
                     + "".join([f"\n  - mode object {mode!r}" for mode in tls.function_modes[-1:]])
                     + "".join([f"\n  - tensor subclass {type(t)}" for t in overriding_arguments(args, kwargs)])
                     + "\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def through_operator(op: OpDef, args: Sequence[Any]) -> Any:
    """`through_function` for an operator, whose handler may return NotImplemented."""
    if not (tls.function_modes and tls.function_disabled < 2) and not overriding_arguments(args, {}):
        return call(op, [*args, *op.tail])
    function = getattr(Tensor, OPERATOR_NAMES.get(op.name, op.name), None) or find_packet(op.name)
    result = ask(function, tuple(args), {})
    if result is NotImplemented:
        if len(args) == 1:
            raise no_handler(function, args, {})
        return declined({"div": "truediv", "mm": "matmul"}.get(op.name, op.name), *args)
    return result


OPERATOR_NAMES = {"eq": "__eq__", "rsub": "__rsub__", "mm": "matmul"}
SIGNS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()", "matmul": "@",
         "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>"}


def declined(name: str, a: Any, b: Any) -> Any:
    """The outcome of an operator on tensors whose handlers return NotImplemented: Python's error, raised here because Python
    would print a compiled class with its module; NotImplemented where the right operand has a method of its own for it."""
    inplace = name[:1] == "i" and name[1:] in SIGNS
    kind = name[1:] if inplace else name
    if not (isinstance(a, Tensor) and isinstance(b, Tensor) and kind in SIGNS) or any(
            [f"__r{kind}__" in vars(cls) for cls in type(b).__mro__[:type(b).__mro__.index(Tensor)]]):
        return NotImplemented
    raise refusal(SIGNS[kind].partition(" ")[0] + "=" if inplace else SIGNS[kind], a, b)


def through_special(name: str, args: tuple[Any, ...]) -> Any:
    """`through_function` for a special method that is not an op of its own: `x[0]`, `2 ** x`, `int(x)`."""
    if not (tls.function_modes and tls.function_disabled < 2) and (tls.function_disabled or not overriding_arguments(args, {})):
        return FUNCTIONS_BY_NAME[name](*args)
    function = getattr(Tensor, SEEN_AS.get(name, name))
    if len(args) != 2 or name == "__getitem__":
        return through_function(function, args, {})
    result = ask(function, args, {})
    return declined(name.strip("_"), *args) if result is NotImplemented else result


# Special methods that handlers see as the corresponding method.
SEEN_AS = {f"__{name}__": name for name in ("ne", "lt", "le", "gt", "ge")} | {
    "__mod__": "remainder", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_"}


def ask(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], types: tuple[Any, ...] | None = None) -> Any:
    overriding = [] if tls.function_disabled else overriding_arguments(args, kwargs)
    types = tuple([type(t) for t in overriding]) or types or ()
    modes = tls.function_modes
    if modes and tls.function_disabled < 2:
        mode = modes.pop()
        try:
            result = mode.__torch_function__(function, types, args, kwargs or None)
        finally:
            modes.append(mode)
        if result is not NotImplemented:
            return result
    elif not overriding:
        with DisableTorchFunctionSubclass():
            return function(*args, **kwargs)
    for t in overriding:
        result = t.__torch_function__(function, types, args, kwargs or None)
        if result is not NotImplemented:
            return result
    return NotImplemented


def overriding_arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """One argument of each type that has a `__torch_function__`, subclasses before their bases."""
    found: list[Any] = []
    for value in (*args, *kwargs.values()):
        for t in value if type(value) is list or type(value) is tuple else (value,):
            if overrides_function(type(t)) and not any([type(other) is type(t) for other in found]):
                place = next((i for i, other in enumerate(found) if issubclass(type(t), type(other))), len(found))
                found.insert(place, t)
    return found


def types_of_protocol(args: Sequence[Any]) -> tuple[Any, ...]:
    """The types of arguments that have a `__torch_function__`, Tensor among them, subclasses before their bases."""
    found: list[Any] = []
    for value in args:
        for t in value if type(value) is list or type(value) is tuple else (value,):
            cls = type(t)
            if cls not in found and (cls is Tensor or overrides_function(cls)):
                found.insert(next((i for i, other in enumerate(found) if issubclass(cls, other)), len(found)), cls)
    return tuple(found)


def overrides_function(cls: Any) -> bool:
    """Whether instances of `cls` override functions."""
    handler = getattr(cls, "__torch_function__", None)
    return handler is not None and cls is not Tensor and handler is not disabled_torch_function


def disabled_torch_function(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of classes that switch the protocol off.

    >>> import retrograd as torch
    >>> class Plain(torch.Tensor):
    ...     __torch_function__ = torch.overrides.disabled_torch_function
    >>> type(torch.ones(2).as_subclass(Plain) + 1).__name__
    'Tensor'
    """
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def default_torch_function(cls: type, func: Any, types: tuple[Any, ...], args: tuple[Any, ...] = (), kwargs: dict[str,
                           Any] | None = None) -> Any:
    """Run the function and make its results instances of `cls`."""
    if not all([issubclass(cls, t) for t in types]):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
        return result if func in nowrap_functions() else converted(result, cls)


def converted(result: Any, cls: type) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor):
        return result if isinstance(result, cls) else as_subclass(result, cls)
    if isinstance(result, (tuple, list)):
        items = [converted(item, cls) for item in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def nowrap_functions() -> set[Any]:
    """The functions whose results are not converted to the subclass."""
    return {Tensor._base.__get__, Tensor.grad.__get__}


def resolve_name(function: Any) -> str:
    """The public spelling of a function.

    >>> import retrograd as torch
    >>> torch.overrides.resolve_name(torch.Tensor.sin), torch.overrides.resolve_name(torch.sin)
    ('torch.Tensor.sin', 'torch.sin')
    """
    if isinstance(function, (OpDef, Packet)):
        return str(function)
    name = getattr(function, "__name__", None) or str(function)
    if name in ("__get__", "__set__"):
        return f"torch.Tensor.{function.__self__.__qualname__.rpartition('.')[2]}.{name}"
    if getattr(Tensor, name, None) is function:
        return f"torch.Tensor.{name}"
    _, _, part = (getattr(function, "__module__", None) or "torch").partition(".")
    part = part.removeprefix("_C._")
    if part in ("linalg", "fft", "special"):
        return f"torch.{part}.{name.removeprefix(part + '_')}"
    if not part and name in IN_PYTHON["torch.functional"]:
        part = "functional"
    part = {"nn": "nn.functional."}.get(part, f"{part}." if part in ("functional", "nn.functional", "nn.init") else "")
    return f"torch.{part}{name}"


class DisableTorchFunctionSubclass:
    """Disable `__torch_function__` of subclasses, not of modes, within this scope.

    >>> import retrograd as torch
    >>> class Marked(torch.Tensor):
    ...     pass
    >>> x = torch.ones(2).as_subclass(Marked)
    >>> type(x + 1).__name__
    'Marked'
    >>> with torch.overrides.DisableTorchFunctionSubclass():
    ...     type(x + 1).__name__
    'Tensor'
    """

    level = 1

    def __enter__(self) -> None:
        self.before = tls.function_disabled
        tls.function_disabled = max(self.before, self.level)

    def __exit__(self, *args: object) -> None:
        tls.function_disabled = self.before


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Disable `__torch_function__` of subclasses and modes within this scope."""

    level = 2


class TorchFunctionMode:
    """A scope in which every public function goes to `__torch_function__(func, types, args, kwargs)`.

    >>> import retrograd as torch
    >>> class Log(TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.ones(2) + 1
    ones
    add
    """

    watches_attributes = True         # whether attribute reads and trivial methods of tensors are shown to the mode

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        push_function_mode(self)
        return self

    def __exit__(self, *args: object) -> None:
        pop_function_mode()

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        return cls(*args, **kwargs)


def push_function_mode(mode: Any) -> None:
    """Put any object with `__torch_function__` on top of the stack of modes."""
    if getattr(mode, "watches_attributes", True):
        watch_attributes(1)
    tls.function_modes.append(mode)
    switches.function_modes += 1
    add_slow_path(1)


def pop_function_mode() -> Any:
    """Remove the innermost mode and return it."""
    mode = tls.function_modes.pop()
    switches.function_modes -= 1
    add_slow_path(-1)
    if getattr(mode, "watches_attributes", True):
        watch_attributes(-1)
    return mode


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing.

    >>> import retrograd as torch
    >>> with torch.overrides.BaseTorchFunctionMode():
    ...     torch.ones(2) + 1
    tensor([2., 2.])
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Watching:
    """Attributes and trivial methods of Tensor in two forms: plain, and visible to function modes."""

    modes = 0                          # number of active modes in all threads
    plain: dict[str, Any] = {}
    watched: dict[str, Any] = {}


def watch_attributes(count: int) -> None:
    """Switch the attributes of Tensor between the two forms when the first mode starts or the last one ends; attributes
    that a program has replaced stay."""
    before, Watching.modes = Watching.modes, Watching.modes + count
    if bool(before) is bool(Watching.modes):
        return
    old, new = (Watching.plain, Watching.watched) if count > 0 else (Watching.watched, Watching.plain)
    members = vars(Tensor)
    install(Tensor, {name: member for name, member in new.items() if members.get(name) is old[name]})


# ---- making instances
bare = Tensor.__new__         # the original, before `construct` replaces it: an object without state


def instance(cls: Any, t: Tensor) -> Any:
    """An object of class `cls` with the state of tensor `t`."""
    if t._flags & FLAG_PENDING and hooks.settle is not None:       # its node may change then
        hooks.settle(t)
    made = bare(cls)
    init_tensor(made, t.array)
    made._flags = t._flags & ~FLAG_SUBCLASS
    if cls is not Tensor and (overrides_function(cls) or overrides_dispatch(cls)):
        made._flags |= FLAG_SUBCLASS
    made._requires, made._node, made._nr = t._requires, t._node, t._nr
    made._counter, made._view = t._counter, t._view
    if t._flags & FLAG_SPARSE:
        extra_of(made).sparse = t._extra.sparse.copy()
    if t._flags & FLAG_WRAPPER:              # the value at the transform's level is kept
        extra_of(made).batch = t._extra.batch
    return made


def instance_over(cls: type, t: Tensor) -> Tensor:
    """`t` as an instance of `cls`; an object returned by `__torch_dispatch__` keeps its class."""
    if not t._flags & FLAG_SUBCLASS or tls.dispatch_disabled or not overrides_dispatch(type(t)):
        return instance(cls, t)
    if not issubclass(type(t), cls):
        raise RuntimeError(f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to "
                           f"a python object of type {type(t).__name__} which is not a subclass of the requested type")
    return t


def as_subclass(self: Tensor, cls: Any) -> Tensor:
    """The same tensor as an instance of `cls`, which must be a subclass of Tensor."""
    check_class(cls)
    with DisableTorchFunctionSubclass():
        return instance_over(cls, call(ALIAS[0], [self]))


ALIAS: list[Any] = []         # the op that as_subclass records, set by its table


def make_subclass(cls: Any, data: Any, require_grad: bool = False, *, dispatch_sizes_strides_policy: Any = None,
                  dispatch_device: bool = False, dispatch_layout: bool = False, device_for_backend_keys: Any = None) -> Any:
    """An instance of `cls` on the memory of `data`, without its history."""
    if not isinstance(data, Tensor):
        raise TypeError("_make_subclass(): argument 'data' (position 2) must be Tensor, not " + type(data).__name__)
    check_class(cls)
    made = instance(cls, data)
    made._node, made._nr, made._view = None, 0, None
    made._counter = None if data._flags & FLAG_INFERENCE else counter_of(data)
    made._requires = False
    if require_grad:
        if not is_inexact_type(made.array.dtype):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if made._flags & FLAG_INFERENCE and not tls.inference:
            raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
        made._requires = True
    if switches.any_mode and tls.origins:
        note_made(made, cls.__name__)
    return made


def make_wrapper_subclass(cls: Any, size: Any = None, strides: Any = None, storage_offset: Any = None,
                          memory_format: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
                          pin_memory: bool = False, requires_grad: bool = False, dispatch_sizes_strides_policy: Any = None,
                          dispatch_device: bool = False, dispatch_layout: bool = False, **kwargs: Any) -> Any:
    """An instance of `cls` with a geometry and a dtype but no data."""
    check_class(cls)
    if not overrides_dispatch(cls):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    check_policy(dispatch_sizes_strides_policy)
    if size is None:
        raise TypeError('_make_wrapper_subclass() missing 1 required positional arguments: "size"')
    if not isinstance(size, (tuple, list)):
        raise TypeError("_make_wrapper_subclass(): argument 'size' (position 2) must be tuple of ints, not "
                        f"{type(size).__name__}")
    shape = tuple([int(n) for n in size])
    if strides is not None and len(strides) != len(shape):
        raise RuntimeError(f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(strides)})")
    numpy_dtype = (dtype or get_default_dtype()).numpy
    array = reserved_array(shape, tuple(strides) if strides is not None else contiguous_strides(shape), numpy_dtype,
                           int(storage_offset or 0))
    made = make_subclass(cls, new_tensor(array), requires_grad)
    if device is not None and str(device) == "meta":
        made._flags |= FLAG_META
    elif device is not None and device != CPU and str(device) != "cpu":
        raise RuntimeError(f"retrograd has no {device} tensors on this machine")
    set_policy(made, dispatch_sizes_strides_policy, dispatch_device, dispatch_layout)
    return made


def check_class(cls: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(f"cls must be a type (got {type(cls).__name__})")
    if not issubclass(cls, Tensor):
        raise TypeError("Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure "
                        "your class inherits from Tensor.")


def construct(cls: type, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor.__new__`: what `cls(data)` and `cls(2, 3)` make, and `super().__new__(cls, data)` in a subclass."""
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"Tensor.__new__(X): X is not a type object ({type(cls).__name__})" if not isinstance(cls, type) else
                        f"Tensor.__new__({cls.__name__}): {cls.__name__} is not a subtype of Tensor")
    with DisableTorchFunctionSubclass():
        return instance_over(cls, hooks.legacy(args, kwargs))


# ---- defining classes
class Subclasses:
    """Whether a subclass that overrides functions or dispatch has been defined; read by the engine."""

    defined = False


def init_subclass(cls: Any, /, **kwargs: Any) -> None:
    """Prepare a new subclass of Tensor."""
    shadow_fields(cls, Tensor)
    if cls.__init__ is Tensor.__init__:
        cls.__init__ = ignore_arguments
    if overrides_dispatch(cls) and getattr(cls.__torch_function__, "__func__", None) is default_torch_function:
        cls.__torch_function__ = disabled_torch_function      # its `__torch_dispatch__` wraps the results already
    if overrides_function(cls):
        Subclasses.defined = True
        for name, overlay in OVERLAYS.items():
            if getattr(cls, name, None) is getattr(Tensor, name):
                setattr(cls, name, overlay)


def ignore_arguments(self: Tensor, *args: Any, **kwargs: Any) -> None:
    """`__new__` has set everything."""


OVERLAYS: dict[str, Any] = {}         # the attributes overlaid on subclasses (see watching.py)


def find_alias() -> None:
    """Look up the op that `as_subclass` records."""
    packet = find_packet("alias")
    assert packet is not None
    ALIAS[:] = [packet.overloads_[0]]
    ALIAS[0].prepare()


MEMBERS: dict[str, Any] = dict(
    as_subclass=as_subclass, __new__=staticmethod(construct), __array_priority__=1000,
    _make_subclass=staticmethod(make_subclass),
    _make_wrapper_subclass=staticmethod(make_wrapper_subclass),
    __init_subclass__=classmethod(init_subclass), __torch_function__=classmethod(default_torch_function),
    __torch_dispatch__=staticmethod(disabled_torch_dispatch),
)
hooks.torch_function = through_function
hooks.torch_operator = through_operator
hooks.torch_special = through_special
hooks.overrides_function = overrides_function
