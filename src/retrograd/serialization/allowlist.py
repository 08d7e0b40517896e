"""What a file may name, call and build when it is read with `weights_only`: exact objects, each with its own checks.

NOTE [What a file can do]
A pickle is a program, and its author may have read this source. It can do only what stands here:
- name an object of ALLOWED, or one that the user declared safe. Names are keys of a dict: nothing is looked up by attribute;
- call an object of CALLS, through a function here that checks the arguments' exact types and charges what it copies;
- set the state of an object whose exact type is in SETTERS.
Objects are compared by identity, never hashed or printed: a nested tuple can take for ever to hash.
"""
from __future__ import annotations

from _codecs import encode
from collections import Counter, OrderedDict
from collections.abc import Callable
from importlib import import_module
from typing import Any

from retrograd.core import dtypes
from retrograd.core.device import device
from retrograd.core.tensor import Size, Tensor, new_tensor
from retrograd.ops.create import generators
from retrograd.serialization import rebuild
from retrograd.serialization.errors import UnpicklingError, shown
from retrograd.storage import STORAGE_TYPES, TypedStorage, UntypedStorage


class Reader:
    """What a call may ask of the reading that it belongs to."""

    def charge(self, amount: int) -> None:
        """Account for `amount` elements that are copied; raises when a file asks for much more than it holds."""
        raise NotImplementedError

    def check_key(self, key: Any, target: Any) -> None:
        """Refuse a key of a dict or a member of a set that would be expensive to hash."""
        raise NotImplementedError

    def is_safe(self, obj: Any) -> bool:
        """Whether the user declared `obj` safe."""
        raise NotImplementedError


LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")


def get_layout(name: Any) -> Any:
    """The layout of that name."""
    plain = name.removeprefix("torch.") if type(name) is str else None
    if plain not in LAYOUTS:
        raise UnpicklingError(f"there is no layout {shown(name)}")
    return rebuild.public(plain)


def refuse(what: str) -> Any:
    raise UnpicklingError(f"wrong arguments in the file for {what}")


# ---- calls: (arguments, charge) -> object
def make_ordered(args: tuple[Any, ...], reader: Reader) -> Any:
    made: OrderedDict[Any, Any] = OrderedDict()
    if args:
        pairs = args[0] if len(args) == 1 and type(args[0]) in (list, tuple) else refuse("collections.OrderedDict")
        reader.charge(len(pairs))
        for pair in pairs:
            if type(pair) not in (list, tuple) or len(pair) != 2:
                refuse("collections.OrderedDict")
            reader.check_key(pair[0], made)
            made[pair[0]] = pair[1]
    return made


def make_counter(args: tuple[Any, ...], reader: Reader) -> Any:
    if not args:
        return Counter()
    if len(args) != 1 or type(args[0]) is not dict or not all([type(n) in (int, float) for n in args[0].values()]):
        refuse("collections.Counter")
    reader.charge(len(args[0]))
    return Counter(args[0])


def make_set(args: tuple[Any, ...], reader: Reader) -> Any:
    made: set[Any] = set()
    if args:
        items = args[0] if len(args) == 1 and type(args[0]) in (list, tuple, set) else refuse("set")
        reader.charge(len(items))
        for item in items:
            reader.check_key(item, made)
            made.add(item)
    return made


def make_bytes(args: tuple[Any, ...], reader: Reader) -> Any:
    return b"" if not args else refuse("bytes")          # other bytes are encoded strings


def make_bytearray(args: tuple[Any, ...], reader: Reader) -> Any:
    if not args:
        return bytearray()
    if len(args) == 1 and type(args[0]) is bytes:
        reader.charge(len(args[0]))
        return bytearray(args[0])
    return bytearray(make_encoded(args, reader))


def make_encoded(args: tuple[Any, ...], reader: Reader) -> Any:
    """How protocol 2 writes bytes: a string with their values as characters."""
    if len(args) != 2 or not (type(args[0]) is type(args[1]) is str) or args[1] not in ("latin1", "latin-1"):
        refuse("_codecs.encode, which makes bytes of a latin1 string")
    reader.charge(len(args[0]))
    try:
        return args[0].encode("latin1")
    except UnicodeEncodeError:
        return refuse("_codecs.encode: the string is not latin1")


def make_complex(args: tuple[Any, ...], reader: Reader) -> Any:
    return complex(*args) if len(args) == 2 and all([type(part) in (int, float) for part in args]) else refuse("complex")


def make_size(args: tuple[Any, ...], reader: Reader) -> Any:
    if not args:
        return Size()
    if len(args) != 1 or type(args[0]) not in (tuple, list, Size) or not all([type(n) is int for n in args[0]]):
        refuse("torch.Size")
    reader.charge(len(args[0]))
    return Size(args[0])


def make_device(args: tuple[Any, ...], reader: Reader) -> Any:
    if not 1 <= len(args) <= 2 or type(args[0]) is not str or len(args[0]) > 100 or type(args[-1]) not in (str, int):
        refuse("torch.device")
    try:
        return device(*args)
    except (RuntimeError, ValueError, TypeError) as error:
        raise UnpicklingError(str(error)) from error


def make_generator(args: tuple[Any, ...], reader: Reader) -> Any:
    reader.charge(5056)                                         # the size of its state, which must be in the file
    return rebuild.new_generator(*args)


def make_sparse(args: tuple[Any, ...], reader: Reader) -> Any:
    reader.charge(256)
    if len(args) == 2 and type(args[1]) is tuple:
        for part in args[1]:
            if type(part) is Tensor:
                reader.charge(part.array.size)                  # to check the indices takes time
    return rebuild.rebuild_sparse(*args)


def make_on_device(args: tuple[Any, ...], reader: Reader) -> Any:
    """A copy of a tensor, which may repeat few bytes of the file many times."""
    reader.charge(8 + (args[0].array.size if args and isinstance(args[0], Tensor) and args[0].array is not None else 0))
    return rebuild.rebuild_on_device(*args)


def make_nested(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], Reader], Any]:
    """Nested tensors take time and memory for every part."""
    def call(args: tuple[Any, ...], reader: Reader) -> Any:
        given = list(args[0].values()) if len(args) == 1 and type(args[0]) is dict else args
        for part in given:
            if type(part) is Tensor:
                reader.charge(256 + 64 * part.array.size)
        return function(*args)
    return call


def make_meta(args: tuple[Any, ...], reader: Reader) -> Any:
    reader.charge(64)
    return rebuild.rebuild_meta(*args)


def made_by(function: Callable[..., Any]) -> Callable[[tuple[Any, ...], Reader], Any]:
    def call(args: tuple[Any, ...], reader: Reader) -> Any:
        reader.charge(8)
        return function(*args)
    return call


def make_parameter_with_state(args: tuple[Any, ...], reader: Reader) -> Any:
    reader.charge(8 + size_of_state(args[-1]))
    return rebuild.rebuild_parameter_with_state(*args)


def make_of_type(args: tuple[Any, ...], reader: Reader) -> Any:
    """A tensor with attributes or of a class that the user declared safe."""
    if len(args) != 4 or type(args[2]) is not tuple:
        refuse("torch._tensor._rebuild_from_type_v2")
    function, cls, inner, state = args
    call = CALLS.get(id(function))
    if call is None or function not in REBUILDS:
        raise UnpicklingError("torch._tensor._rebuild_from_type_v2 calls only functions that rebuild tensors")
    declared = reader.is_safe(cls)
    if not (cls is Tensor or cls is parameter() or (declared and isinstance(cls, type) and issubclass(cls, Tensor))):
        raise UnpicklingError("torch._tensor._rebuild_from_type_v2 makes only tensors, parameters and subclasses allowlisted "
                              "via `add_safe_globals`")
    reader.charge(size_of_state(state))
    return rebuild.rebuild_from_type(lambda *given: call(given, reader), cls, inner, state, declared)


def size_of_state(state: Any) -> int:
    return len(state) if type(state) in (dict, OrderedDict, tuple) else 0


def parameter() -> Any:
    return import_module(f"{rebuild.PACKAGE}.nn").Parameter


REBUILDS: list[Callable[..., Any]] = [
    rebuild.rebuild_tensor, rebuild.rebuild_typed, rebuild.rebuild_parameter, rebuild.rebuild_parameter_with_state,
    rebuild.rebuild_meta, rebuild.rebuild_sparse, rebuild.rebuild_on_device, rebuild.rebuild_jagged, rebuild.rebuild_nested,
]
ALLOWED: dict[str, Any] = {
    "torch._utils._rebuild_tensor": rebuild.rebuild_tensor,
    "torch._utils._rebuild_tensor_v2": rebuild.rebuild_tensor,
    "torch._utils._rebuild_tensor_v3": rebuild.rebuild_typed,
    "torch._utils._rebuild_parameter": rebuild.rebuild_parameter,
    "torch._utils._rebuild_parameter_with_state": rebuild.rebuild_parameter_with_state,
    "torch._utils._rebuild_meta_tensor_no_storage": rebuild.rebuild_meta,
    "torch._utils._rebuild_sparse_tensor": rebuild.rebuild_sparse,
    "torch._utils._rebuild_nested_tensor": rebuild.rebuild_nested,
    "torch.nested._internal.nested_tensor._rebuild_njt": rebuild.rebuild_jagged,
    "torch._utils._rebuild_wrapper_subclass": rebuild.rebuild_wrapper_subclass,
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": rebuild.rebuild_on_device,
    "torch._tensor._rebuild_from_type_v2": rebuild.rebuild_from_type,
    "torch.serialization._get_layout": get_layout,
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.storage.TypedStorage": TypedStorage,
    "torch.Size": Size,
    "torch.Tensor": Tensor,
    "torch.device": device,
    "torch._C.Generator": generators.Generator,
    "_codecs.encode": encode,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    **{f"builtins.{kind.__name__}": kind for kind in (set, bytes, bytearray, complex)},
    **{f"torch.{name}": kind for name, kind in STORAGE_TYPES.items()},
    **{f"torch.{name}": dtype for name, dtype in dtypes.BY_NAME.items()},
}
MAKERS: list[tuple[Any, Callable[[tuple[Any, ...], Reader], Any]]] = [
    (OrderedDict, make_ordered), (Counter, make_counter), (set, make_set), (bytes, make_bytes), (bytearray, make_bytearray),
    (complex, make_complex), (encode, make_encoded), (Size, make_size), (device, make_device),
    (generators.Generator, make_generator), (get_layout, made_by(get_layout)),
    *[(function, made_by(function)) for function in REBUILDS],
    (rebuild.rebuild_sparse, make_sparse), (rebuild.rebuild_meta, make_meta), (rebuild.rebuild_on_device, make_on_device),
    *[(function, make_nested(function)) for function in (rebuild.rebuild_jagged, rebuild.rebuild_nested)],
    (rebuild.rebuild_parameter_with_state, make_parameter_with_state), (rebuild.rebuild_from_type, make_of_type),
]
CALLS: dict[int, Callable[[tuple[Any, ...], Reader], Any]] = {id(function): maker for function, maker in MAKERS}


def find_allowed(full_name: str) -> Any:
    """The object of that name, or None."""
    if full_name == "torch.nn.parameter.Parameter":
        return parameter()
    return ALLOWED.get(full_name)


# ---- objects that are made empty first, and states
def make_blank(cls: Any, args: tuple[Any, ...]) -> Any:
    """What NEWOBJ makes of an allowed class."""
    if cls is parameter():
        if not 1 <= len(args) <= 2:
            refuse("torch.nn.Parameter")
        return rebuild.rebuild_parameter(args[0], args[1] if len(args) == 2 else True)
    if not args and cls is Tensor:
        return new_tensor(public_empty().array)
    if not args and cls is OrderedDict:
        return OrderedDict()
    raise UnpicklingError("Can only create new object for nn.Parameter or classes allowlisted via `add_safe_globals` but got "
                          f"{shown(getattr(cls, '__name__', None))}")


def public_empty() -> Any:
    return rebuild.public("empty")(0)


SETTERS: dict[type, Callable[[Any, Any], None]] = {
    OrderedDict: rebuild.set_attributes,
    Tensor: rebuild.set_geometry,
    generators.Generator: rebuild.set_generator,
}
