"""From op tables to what users call: the functions `torch.sin`, the methods `x.sin`, the objects `ops.aten.sin.default`.

A name is one Packet with several overloads. Calls with plain tensors in the usual positions go straight to dispatch;
everything else is bound against the schemas first. `__torch_function__` is handled here, at the public names.

NOTE [Names bound on first use]
There are some two thousand names and a program uses few, so `import retrograd` imports the tables that every program
needs and knows only the names that the others declare (ops/names.py). The first use of a name imports its tables and
creates its function or method: by `retrograd.__getattr__` for functions, by the `Later` placeholder of each method of
Tensor and of each entry of FUNCTIONS_BY_NAME, by `find_packet` for ops. The result replaces the `Later`, so later calls pay
nothing.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from retrograd.core import convert, documentation, overload
from retrograd.core.arguments import resolve, type_name
from retrograd.core.device import parse_device
from retrograd.core.dispatch import call
from retrograd.core.dtypes import as_dtype
from retrograd.core.hooks import hooks
from retrograd.core.opdef import CALLERS, MODULES, UNFINISHED, OpDef, Packet, find_packet, load
from retrograd.core.ranges import RangeOps
from retrograd.core.recipe import Binding
from retrograd.core.schema import Schema
from retrograd.core.signatures import signature_of
from retrograd.core.state import switches, tls
from retrograd.core.tensor import COMPILED, FLAG_SUBCLASS, FUNCTIONS_BY_NAME, Tensor, install, put_into

binder: Any
operators: Any
calls: Any
if COMPILED:
    from retrograd.core import binder  # type: ignore[attr-defined, no-redef, unused-ignore]
    operators = calls = None
else:
    from retrograd.core.plain import calls, operators
    binder = None

FUNCTIONS: dict[str, Any] = {}        # torch.<name>
TENSOR_METHODS: dict[str, Any] = {}   # Tensor.<name>, made from the op tables
EXTRA_FUNCTIONS: dict[str, Any] = {}  # torch.<name> that are not ops themselves but call ops
EXTRA_METHODS: dict[str, Any] = {}    # the same for Tensor.<name>
PUBLIC: set[str] = set()              # all torch.<name> of the tables, made or not


def call_named(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], is_method: bool, function: Callable[..., Any]) -> Any:
    """Bind a call of a public name to one of its overloads and run it."""
    if is_method and not (args and isinstance(args[0], Tensor)):
        raise no_receiver(name, args)
    if overridden(args, kwargs):
        return hooks.torch_function(function, args, kwargs)
    packet = find_packet(name)
    assert packet is not None
    try:
        index, bound = resolve(name, packet.schemas, args, kwargs, is_method)
    except TypeError:
        # checked last because it is slow: a non-tensor argument may still override the call
        if wanted_by_another(args, kwargs):
            return hooks.torch_function(function, args, kwargs)
        if is_method and all([len(s.params) == 1 or s.is_out for s in packet.schemas]):
            if kwargs:
                raise TypeError(f"TensorBase.{name}() takes no keyword arguments") from None
            raise TypeError(f"TensorBase.{name}() takes no arguments ({len(args) - 1} given)") from None
        raise
    result = call(packet.overloads_[index], bound)
    if args and packet.schemas[index].writes_list:
        return args[0]
    return tuple(result) if type(result) is list else result


def no_receiver(name: str, args: tuple[Any, ...]) -> TypeError:
    """The error for a method that is called on something other than a tensor."""
    if not args:
        return TypeError(f"unbound method TensorBase.{name}() needs an argument")
    return TypeError(f"descriptor '{name}' for 'torch._C.TensorBase' objects doesn't apply to a '{type(args[0]).__name__}' "
                     "object")


def overridden(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a mode or a subclass overrides this call."""
    if switches.any_mode and tls.function_modes:
        return tls.function_disabled < 2
    for a in args:
        if isinstance(a, Tensor):
            if a._flags & FLAG_SUBCLASS:
                return not tls.function_disabled
        elif type(a) is list or type(a) is tuple:
            for item in a:
                if isinstance(item, Tensor) and item._flags & FLAG_SUBCLASS:
                    return not tls.function_disabled
    for a in kwargs.values():
        if isinstance(a, Tensor) and a._flags & FLAG_SUBCLASS:
            return not tls.function_disabled
    return False


def is_op(public: str) -> bool:
    """Whether a public name is an op's, not that of a function written in terms of ops (see ops/shared/as_ops.py)."""
    packet = find_packet(public)
    return packet is not None and any([op.variants for op in packet.overloads_])


def make_unreduced(name: str, op: OpDef, public: Any = None) -> Any:
    """The public function of a loss: the schema's default (used by `ops.aten`) is the mean, but PyTorch's Python binding
    reads it as 0, so `torch.kl_div(a, b)` does not reduce by default."""
    place = [p.name for p in op.schema.params].index("reduction")

    def function(*args: Any, **kwargs: Any) -> Any:
        if len(args) <= place and "reduction" not in kwargs:
            kwargs["reduction"] = 0
        return call_named(name, args, kwargs, False, function if public is None else public())
    return function


def make_entry(name: str, is_method: bool) -> Any:
    """The public function or method for an op name (see NOTE [Binding] in binder.pyx, [Call patterns] in plain/calls.py)."""
    public: Any
    packet = find_packet(name)
    assert packet is not None
    losses = [] if is_method else [op for op in packet.overloads_ if "int reduction=1" in op.schema.text]
    general = make_unreduced(name, losses[0], lambda: public) if losses else lambda *args, **kwargs: call_named(
        name, args, kwargs, is_method, public)
    entry = entry_of(name, packet.schemas, packet.overloads_, general, is_method)
    public = entry if COMPILED else operators.before(entry, packet, is_method)
    return public


def entry_of(name: str, schemas: Sequence[Any], targets: Sequence[Any], general: Callable[..., Any], is_method: bool,
             unreduced: bool = True) -> Callable[..., Any]:
    """A function that binds each call to the first schema that fits and runs its target; losses default to no reduction
    (see `make_unreduced`)."""
    if not COMPILED:
        return calls.entry(name, schemas, targets, general, is_method, unreduced)

    def forms() -> list[Any]:
        found: list[Any] = []
        for schema, target in zip(schemas, targets, strict=True):
            if is_method and (schema.is_out or not schema.takes_self):
                continue
            form = binder.form_of(Binding(schema, is_method, unreduced), target)
            if form is None:             # this overload and those after it are bound by their schemas
                break
            found.append(form)
        return found
    return binder.Entry(name, forms, lambda args, kwargs: general(*args, **kwargs), is_method)


def make(name: str, is_method: bool) -> Callable[..., Any]:
    """The public function or method for an op name, with its documentation."""
    packet = find_packet(name)
    assert packet is not None
    entry = make_entry(name, is_method)
    if not COMPILED:
        entry.__name__, entry.__qualname__ = name, f"Tensor.{name}" if is_method else name
    entry.__module__ = "torch"
    entry.__doc__ = documentation.documentation(packet, name, is_method)
    entry.__signature__ = signature_of(packet.schemas, is_method)
    return entry


# ---- names bound on first use
class Later(str):
    """Placeholder for a method of Tensor or an entry of FUNCTIONS_BY_NAME until its first use: its name."""

    __slots__ = ()        # there are a thousand instances: keep them out of the garbage collector

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return internal_named(str(self))(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return method_named(str(self)).__get__(instance, owner)

    def __set__(self, instance: Any, value: Any) -> None:
        method_named(str(self))
        setattr(instance, str(self), value)

    def __delete__(self, instance: Any) -> None:
        method_named(str(self))
        delattr(instance, str(self))


def function_named(name: str) -> Any:
    """torch.<name>, which must be one of PUBLIC."""
    load(name)
    made = EXTRA_FUNCTIONS.get(name)
    if made is None:
        made = FUNCTIONS.get(name)
    else:
        documentation.add_example(name, made)
    # `setdefault` gives all threads the same object
    return made if made is not None else FUNCTIONS.setdefault(name, make(name, False))


def method_named(name: str) -> Callable[..., Any]:
    """Create Tensor.<name> and install it on the class."""
    load(name)
    made = EXTRA_METHODS.get(name)
    if made is None:
        made = TENSOR_METHODS.get(name)
    if made is None:
        made = TENSOR_METHODS.setdefault(name, make(name, True))
    if isinstance(vars(Tensor).get(name), Later):
        install(Tensor, {name: made})
    return made


def internal_named(name: str) -> Callable[..., Any]:
    """The entry of FUNCTIONS_BY_NAME for `name`, created on first use."""
    load(name)
    found = FUNCTIONS_BY_NAME[name]
    if isinstance(found, Later):          # it belongs to an op; the tables enter everything else themselves
        found = FUNCTIONS_BY_NAME[name] = function_named(name) if name in PUBLIC else method_named(name)
    return found


def announce(modules: dict[str, tuple[str, str, str, str]], package: str) -> None:
    """Register the names of modules that are not imported yet: for each module its functions, its methods of Tensor, its
    other ops, and its further entries of FUNCTIONS_BY_NAME."""
    methods: list[str] = []
    internal: list[str] = []
    for module, (functions, members, ops, internals) in modules.items():
        path: tuple[str, ...] = (package + module,)
        declared = dict.fromkeys(f"{functions} {members} {ops} {internals}".split(), path)
        for name in MODULES.keys() & declared.keys():
            declared[name] = MODULES[name] + path
        MODULES.update(declared)
        PUBLIC.update(functions.split())
        methods += members.split()
        internal += f"{functions} {members} {internals}".split()
    UNFINISHED.update(MODULES)
    laters = {name: Later(name) for name in internal}
    install(Tensor, {name: laters[name] for name in methods})
    laters.update(FUNCTIONS_BY_NAME)                # existing entries stay
    FUNCTIONS_BY_NAME.update(laters)


def bind_all() -> None:
    """Make every function and method that has been announced."""
    for name in PUBLIC:
        function_named(name)
    for name, member in list(vars(Tensor).items()):
        if isinstance(member, Later):
            method_named(name)
    for name, member in list(FUNCTIONS_BY_NAME.items()):
        if isinstance(member, Later):
            internal_named(name)


def wants_call(values: Any) -> bool:
    """Whether a non-tensor among the arguments, or in lists of them, implements `__torch_function__`."""
    for value in values:
        if isinstance(value, Tensor):
            continue
        if type(value) is list or type(value) is tuple:
            if wants_call(value):
                return True
        elif hasattr(value, "__torch_function__"):
            return True
    return False


def expose(function: Any = None, *, name: str | None = None, method: bool = True, plain: bool = True,
           written_out: Any = None, seen: bool = True, schema: str | tuple[str, ...] = ()) -> Any:
    """Publish a Python function written in terms of ops as torch.<name> (`plain`) and Tensor.<name> (`method`).
    `written_out` normalises the arguments for `__torch_function__`; with `seen=False` the function skips that protocol.
    With a `schema`, or several, the arguments are bound and checked as those of ops are.
    """
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        public = name or fn.__name__
        forms = [Schema(text) for text in ((schema,) if isinstance(schema, str) else schema)]
        if not seen:
            fn.__name__ = fn.__qualname__ = public
            fn.__module__ = "torch"
            EXTRA_FUNCTIONS[public] = FUNCTIONS_BY_NAME[public] = fn
            return fn
        if method:
            FUNCTIONS_BY_NAME[public] = EXTRA_METHODS[public] = overridable(fn, public, is_method=True, schemas=forms)
        if plain or not method:
            FUNCTIONS_BY_NAME[public] = overridable(fn, public, written_out=written_out, schemas=forms)
        if plain:
            EXTRA_FUNCTIONS[public] = FUNCTIONS_BY_NAME[public]
        return fn
    return register if function is None else register(function)


def overridable(fn: Callable[..., Any], public: str, module: str = "torch", written_out: Callable[..., Any] | None = None,
                is_method: bool = False,
                schemas: Sequence[Any] = ()) -> Callable[..., Any]:
    """A function of tensors that modes, subclasses and tensor-like objects can override."""
    documented = fn
    if schemas:
        fn = bound_by(schemas, fn, public, is_method)

    def function(*args: Any, **kwargs: Any) -> Any:
        if overridden(args, kwargs) or args and not isinstance(args[0], Tensor) and wants_call(args):
            return hooks.torch_function(function, args if written_out is None else written_out(args), kwargs)
        try:
            if switches.any_mode and tls.profiler is not None and args and not is_op(public):
                return tls.profiler.run_function(f"aten::{public}", args, lambda: fn(*args, **kwargs))
            return fn(*args, **kwargs)
        except Exception as error:       # checked last because it is slow: a non-tensor argument may still override the call
            if wants_call(args) or wants_call(kwargs.values()):
                return hooks.torch_function(function, args, kwargs)
            words = unbound(error, fn, public, args, is_method) if isinstance(error, (TypeError, AttributeError)) else None
            if words is None:
                raise
            raise TypeError(words) from None
    function.__name__, function.__qualname__ = public, f"Tensor.{public}" if is_method else public
    function.__doc__, function.__module__ = documented.__doc__, module
    function.__wrapped__ = documented  # type: ignore[attr-defined]
    return function


def declared(text: str) -> Any:
    """Bind the calls of a function that takes no part in the protocol of subclasses by a schema."""
    schema = Schema(text)
    return lambda fn: functools.wraps(fn)(bound_by([schema], fn, schema.name))


def bound_by(schemas: Sequence[Any], fn: Callable[..., Any], public: str, is_method: bool = False) -> Callable[..., Any]:
    """`fn` with its arguments bound and converted by the first of the schemas that fits, or PyTorch's TypeError."""
    def checked(*args: Any, **kwargs: Any) -> Any:
        index, bound = resolve(public, schemas, args, kwargs, is_method)
        params = schemas[index].params
        placed = sum([not p.kwarg_only for p in params])
        return fn(*bound[:placed], **{p.name: value for p, value in zip(params[placed:], bound[placed:], strict=True)})
    return checked


def unbound(error: Any, fn: Callable[..., Any], public: str, args: tuple[Any, ...], is_method: bool) -> str | None:
    """PyTorch's error text for a call whose arguments do not bind, or whose first argument is not a tensor."""
    text = str(error)
    if is_method and not isinstance(args[0] if args else None, Tensor):
        return str(no_receiver(public, args))
    if isinstance(error, AttributeError):
        wrong = args and not isinstance(args[0], Tensor) and text.startswith(
            f"'{type(args[0]).__name__}' object has no attribute '_")
        return f"{public}(): argument 'input' (position 1) must be Tensor, not {type_name(args[0])}" if wrong else None
    name, found, problem = text.partition("() ")
    if not found or name.rpartition(".")[2] not in (fn.__name__, fn.__code__.co_name):
        return None
    alone = is_method and fn.__code__.co_argcount == 1 and not fn.__code__.co_kwonlyargcount
    if problem.startswith("got an unexpected keyword"):
        return f"TensorBase.{public}() takes no keyword arguments" if alone else f"{public}() {problem}"
    if not problem.startswith("takes") or fn.__code__.co_flags & 4:
        return None
    most, given = fn.__code__.co_argcount - is_method, len(args) - is_method
    least = most - len(fn.__defaults__ or ())
    if given <= most:
        return None
    if alone:
        return f"TensorBase.{public}() takes no arguments ({given} given)"
    takes = f"{most}" if least == most else f"from {least} to {most}"
    plural, verb = "" if most == least == 1 else "s", "was" if given == 1 else "were"
    return f"{public}() takes {takes} positional argument{plural} but {given} {verb} given"


def variants_of(name: str) -> str:
    """The variants under which an op is public: "function", "method", both or neither."""
    packet = find_packet(name)
    assert packet is not None
    return ", ".join(op.variants for op in packet.overloads_[:packet.declared or 1])


class Namespace:
    """`ops.aten` and user-defined namespaces: every op by name."""

    _name = ""              # class-level default: reading it before __init__ must not reach __getattr__

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        packet = find_packet(name if self._name in ("aten", "prim", "prims") else f"{self._name}::{name}")
        if packet is None:
            raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")
        for op in packet.rows():
            if not op._ready:
                op.prepare()              # users read attributes that are derived from the schema
        if self._name == "aten":          # user-defined ops may be unregistered again
            self.__dict__[name] = packet
        return packet

    @property
    def name(self) -> str:
        return self._name

    @property
    def __name__(self) -> str:
        return f"torch.ops.{self._name}"

    def __repr__(self) -> str:
        return f"<module 'torch.ops.{self._name}' from 'torch.ops'>"


NAMESPACES: dict[str, str] = {}         # the module that declares the ops of a namespace, imported when it is first used


class Ops:
    """`retrograd.ops`: namespaces of ops."""

    higher_order: Any          # set by library/higher_order.py

    def __init__(self) -> None:
        self.aten = Namespace("aten")
        self.prims = Namespace("prims")
        self.profiler = RangeOps()
        self.missing_libraries: list[str] = []

    def load_library(self, path: Any) -> None:
        """Refuse: op libraries are compiled against PyTorch and cannot be loaded."""
        self.missing_libraries.append(str(path))
        raise OSError(f"Could not load this library: {path}. It is compiled against PyTorch's own C++ library; ops are "
                      "declared in Python, with torch.library")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'Ops' object has no attribute '{name}'")
        made = self.__dict__[name] = Namespace(name)
        if name in NAMESPACES:
            import_module(NAMESPACES[name])
        return made


ops = Ops()


def packet_call(packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    entry = packet.entry
    if entry is None:
        entry = packet.entry = packet_entry(packet)
    return entry(*args, **kwargs)


def packet_entry(packet: Packet) -> Callable[..., Any]:
    """The callable that runs calls of a packet; the compiled core binds them in C."""
    def general(*args: Any, **kwargs: Any) -> Any:
        return packet_general(packet, args, kwargs)
    find_packet(packet.name)
    if any([result.is_list for schema in packet.schemas for result in schema.returns]):
        return general
    return entry_of(packet.name, packet.schemas, packet.overloads_, general, False, unreduced=False)


def packet_function(packet: Packet, name: str, general: Callable[..., Any]) -> Callable[..., Any]:
    """A public function `name` for calls of a packet; `general` handles calls that modes or subclasses override."""
    find_packet(packet.name)
    return entry_of(name, packet.schemas, packet.overloads_, general, False, unreduced=False)


def packet_general(packet: Packet, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if overridden(args, kwargs):
        return hooks.torch_function(packet, args, kwargs)
    find_packet(packet.name)
    try:
        index, bound = resolve(packet.name, packet.schemas, args, kwargs)
    except TypeError:
        if wanted_by_another(args, kwargs):
            return hooks.torch_function(packet, args, kwargs)
        for op in packet.unlisted:
            other = op.schema.try_bind(args, kwargs)
            if other is not None:
                return call(op, other)
        hooks.refused(packet.overloads_, args, kwargs, True)
        raise
    return call(packet.overloads_[index], bound)


def op_call(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if op.scalars:
        if not op._ready:
            op.prepare()
        for i in op.scalar_args:          # functions accept a one-element tensor as a number, ops do not
            if i < len(args) and isinstance(args[i], Tensor):
                hooks.refused([op], args, kwargs, False)
    entry = op.short
    if entry is None:
        if op.schema.writes_list or not op._ready or op.returns_list:
            return op_general(op, args, kwargs)
        entry = op.short = entry_of(op.name, [op.schema], [op], lambda *values, **named: op_general(op, values, named), False,
                                    unreduced=False)
    return entry(*args, **kwargs)


def op_general(op: OpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if overridden(args, kwargs):
        return hooks.torch_function(op, args, kwargs)
    try:
        bound = op.schema.bind(args, kwargs)
    except TypeError:
        if wanted_by_another(args, kwargs):
            return hooks.torch_function(op, args, kwargs)
        hooks.refused([op], args, kwargs, False)
        raise
    return call(op, bound)


def wanted_by_another(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a non-tensor argument overrides a call that could not be bound."""
    return any([hasattr(a, "__torch_function__") and not isinstance(a, Tensor)
                for value in (*args, *kwargs.values()) for a in (value if isinstance(value, (list, tuple)) else (value,))])


class ModuleOfOperators(str):
    """The `__module__` of a class whose instances have that of PyTorch's operators."""

    def __get__(self, instance: Any, owner: Any = None) -> str:
        return str(self) if instance is None else "torch._ops.aten"


assert overload       # importing it adds the remaining attributes of ops
CALLERS.update(op=op_call, packet=packet_call, function=packet_function)
put_into(OpDef, {"__name__": property(lambda op: f"{op.name}.{op.overload}"), "__copy__": lambda op: op,
                 "__deepcopy__": lambda op, memo: op, "__module__": ModuleOfOperators(OpDef.__module__)})
put_into(Packet, {"__module__": ModuleOfOperators(Packet.__module__),
                  "__copy__": lambda packet: packet, "__deepcopy__": lambda packet, memo: packet})

convert.set_hooks(tensor_class=Tensor, as_device=parse_device,
                  python_dtypes={kind: as_dtype(kind) for kind in (bool, int, float, complex)})
