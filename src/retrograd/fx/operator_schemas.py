"""The signatures of operators, and calls written with all their arguments by name."""
from __future__ import annotations

import inspect
import numbers
import typing
import warnings
from typing import Any, NamedTuple

import retrograd as torch
from retrograd.functional import NAMES as older

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op",
           "normalize_function", "normalize_module", "type_matches"]

TYPES = {"Tensor": torch.Tensor, "int": int, "float": float, "bool": bool, "str": str, "complex": complex,
         "number": numbers.Number, "Scalar": numbers.Number, "Device": torch.device, "Generator": torch.Generator,
         "SymInt": int}
NAMESPACES = ((torch, ""), (torch.nn.functional, ""), (torch.special, "special_"), (torch.linalg, "linalg_"),
              (torch.fft, "fft_"))


class ArgsKwargsPair(NamedTuple):
    """Positional arguments and arguments by name."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def get_signature_for_torch_op(op: Any, return_schemas: bool = False) -> Any:
    """The signatures of the overloads of an operator or of a function that is one, None for other functions.

    >>> import retrograd as torch
    >>> [list(signature.parameters) for signature in get_signature_for_torch_op(torch.ops.aten.add.Tensor)]
    [['input', 'other', 'alpha']]
    """
    overloads = overloads_of(op)
    if not overloads:
        return (None, None) if return_schemas else None
    signatures = [signature_of(overload._schema) for overload in overloads]
    return (signatures, [overload._schema for overload in overloads]) if return_schemas else signatures


def overloads_of(op: Any) -> list[Any]:
    """The overloads that an operator, a packet of them or a public function stands for."""
    if hasattr(op, "_schema"):
        return [op]
    packet = op if hasattr(op, "overloads") else None
    name = getattr(op, "__name__", "")
    for space, prefix in NAMESPACES if packet is None else ():
        name = name.removeprefix(prefix)
        if getattr(space, name, None) is op and not (inspect.isfunction(op) and op.__module__.endswith("nn.functional")):
            packet = getattr(torch.ops.aten, prefix + name, None)
            if packet is not None:
                break
    return [] if packet is None else [getattr(packet, overload) for overload in packet.overloads()]


def signature_of(schema: Any) -> inspect.Signature:
    parameters = []
    for argument in schema.arguments:
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        name = "input" if argument.name == "self" else f"{argument.name}_" if argument.name == "from" else argument.name
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=type_of(str(argument.type))))
    returns = [type_of(str(part.type)) for part in schema.returns]
    return inspect.Signature(parameters, return_annotation=returns[0] if len(returns) == 1 else tuple(returns) or None)


def type_of(text: str) -> Any:
    """The Python type for a type of a schema, as `Optional[List[int]]`."""
    for head, kind in (("Optional[", typing.Optional), ("List[", list)):
        if text.startswith(head):
            return kind[type_of(text[len(head):-1])]  # type: ignore[index]
    return TYPES.get(text, typing.Any)


def type_of_schema_type(kind: Any) -> Any:
    """The Python type of an argument, of its type in a schema.

    >>> type_of_schema_type("List[int]")
    list[int]
    """
    return type_of(str(kind))


# ---- calls
def normalize_function(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                       arg_types: tuple[Any, ...] | None = None, kwarg_types: dict[str, Any] | None = None,
                       normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The arguments of a call with their defaults, as the signature has them; None if they fit none.

    Where several overloads fit, types of the arguments must be given to choose between them.

    >>> import retrograd as torch
    >>> normalize_function(torch.nn.functional.relu, (1.0,), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1.0, 'inplace': False}
    """
    kwargs = kwargs or {}
    name = getattr(target, "__name__", "")
    in_python = name in older and getattr(torch, name) is target        # the schema has other names than the function
    signatures = None if in_python else get_signature_for_torch_op(target)
    if signatures is None:
        if not callable(target) or isinstance(target, type):
            return None
        try:
            signatures = [inspect.signature(inspect.unwrap(target))]
        except ValueError:
            return None
        return normalize(signatures[0], args, kwargs, normalize_to_only_use_kwargs)
    bound = [(s, normalize(s, args, kwargs, normalize_to_only_use_kwargs)) for s in signatures]
    fitting = [pair for pair in bound if pair[1] is not None]
    if len(fitting) > 1:
        if arg_types is None and kwarg_types is None:
            listed = "\n".join(str(s) for s, _ in fitting)
            raise RuntimeError(f"Tried to normalize arguments to {name or target} but the schema match was "
                               "ambiguous! Please provide argument types to the normalize_arguments() call. Available "
                               f"schemas:\n{listed}")
        fitting = [pair for pair in fitting if types_fit(pair[0], arg_types or (), kwarg_types or {})]
    return fitting[0][1] if fitting else None


def normalize_module(root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
                     normalize_to_only_use_kwargs: bool = False) -> ArgsKwargsPair | None:
    """The same for a call of a submodule whose class is one of the library's.

    >>> import retrograd as torch
    >>> normalize_module(torch.nn.Sequential(torch.nn.ReLU()), "0", (1.0,), normalize_to_only_use_kwargs=True).kwargs
    {'input': 1.0}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from None
    if getattr(torch.nn, type(module).__name__, None) is not type(module):
        return None
    return normalize(inspect.signature(module.forward), args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any],
              by_name: bool) -> ArgsKwargsPair | None:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    if any([p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY) for p in signature.parameters.values()]):
        return None
    bound.apply_defaults()
    given, named = [], {}
    for i, (name, parameter) in enumerate(signature.parameters.items()):
        if not by_name and i < len(args) and parameter.kind is not parameter.KEYWORD_ONLY:
            given.append(bound.arguments[name])
        else:
            named[name] = bound.arguments[name]
    return ArgsKwargsPair(tuple(given), named)


def types_fit(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return all([type_matches(signature.parameters[name].annotation, kind) for name, kind in bound.arguments.items()])


def type_matches(signature_type: Any, argument_type: Any) -> bool:
    """Whether an argument of one type fits a parameter of another.

    >>> type_matches(list[int], int), type_matches(int, float)
    (True, False)
    """
    if signature_type is argument_type or signature_type is typing.Any:
        return True
    origin, inner = typing.get_origin(signature_type), typing.get_args(signature_type)
    if origin is typing.Union:
        return any([type_matches(part, argument_type) for part in inner])
    if origin is list:
        other = typing.get_args(argument_type)
        if typing.get_origin(argument_type) in (list, tuple) and other:
            return all([part is ... or type_matches(inner[0], part) for part in other])
        return argument_type in ((int, list) if inner[0] is int else (list,))
    if signature_type is numbers.Number:
        return argument_type in (int, float, complex, numbers.Number)
    return isinstance(signature_type, type) and isinstance(argument_type, type) and issubclass(argument_type, signature_type)


def create_type_hint(x: Any) -> Any:
    """The type of a list or tuple whose items have the given types.

    >>> create_type_hint([int, bool])
    list[int]
    """
    if not isinstance(x, (list, tuple)):
        return x
    try:
        kind: Any = x[0] if x else Any
        for other in x:
            kind = kind if issubclass(other, kind) else other if issubclass(kind, other) else Any
            if kind is Any:
                break
    except TypeError:
        warnings.warn(f"We were not able to successfully create type hint from the type {x}", stacklevel=2)
        return x
    return list[kind] if isinstance(x, list) else tuple[kind, ...]


def check_for_mutable_operation(target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Refuse a call of an operator that writes to its operands.

    >>> import retrograd as torch
    >>> check_for_mutable_operation(torch.sin, (torch.ones(2),), {})
    """
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or (), strict=True):
        if normalize(signature, args, kwargs, True) is not None:
            if schema.is_mutable:
                raise RuntimeError(f"Tried to trace mutable operation {schema}. FX only supports functional code, so "
                                   "operations that mutate operands in-place (e.g. via `out` arguments) are not supported")
            return
