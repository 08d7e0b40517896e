"""Questions about operators and their schemas, under PyTorch's names."""
from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import retrograd as torch
from retrograd.core.function_schema import parse_schema

__all__ = ["can_generate_trivial_fake_impl", "fill_defaults", "generate_trivial_fake_impl", "get_device_arg_index",
           "get_layout_constraint_tag", "get_source", "has_kwarg_only_args", "has_kwarg_only_tensors", "has_tensor_arg",
           "is_builtin", "is_functional_schema", "is_inplace", "is_out", "is_tensor_like_type",
           "is_tensorlist_like_type", "iter_tensors", "lookup_op", "mutated_args_kwargs",
           "mutates_and_returns_first_arg", "parse_namespace", "zip_schema"]


def get_source(stacklevel: int) -> str:
    """The file and the line of a caller, as "file:line"."""
    frame = inspect.getframeinfo(inspect.stack()[stacklevel][0])
    return f"{frame.filename}:{frame.lineno}"


def parse_namespace(qualname: str) -> tuple[str, str]:
    """The namespace and the name of an operator.

    >>> parse_namespace("my::op")
    ('my', 'op')
    """
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to '
                         "the torch.library APIs must consist of a namespace and a name, e.g. aten::sin")
    return parts[0], parts[1]


def lookup_op(qualname: str) -> Any:
    """The overload that a name with its namespace means.

    >>> lookup_op("aten::add.Tensor")
    <OpOverload(op='aten.add', overload='Tensor')>
    """
    namespace, name = parse_namespace(qualname)
    name, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")


def is_builtin(op: Any) -> bool:
    """Whether an operator is one of the library's own."""
    return op.namespace in ("aten", "prim", "prims")


def is_functional_schema(schema: Any) -> bool:
    """Whether an operator writes to none of its operands, and returns none of them and no views of them.

    >>> is_functional_schema(torch.ops.aten.sin.default._schema), is_functional_schema(torch.ops.aten.sin_.default._schema)
    (True, False)
    """
    if isinstance(schema, str):
        schema = parse_schema(schema)
    return not schema.is_mutable and not any([r.alias_info is not None for r in schema.returns]) and bool(schema.returns)


def is_inplace(schema: Any) -> bool:
    """Whether an operator writes to its first operand and returns that."""
    return mutates_and_returns_first_arg_schema(schema)


def is_out(schema: Any) -> bool:
    """Whether an operator writes to operands that are given by name."""
    return any([a.is_out for a in schema.arguments])


def mutates_and_returns_first_arg(op: Any) -> bool:
    """Whether an operator writes to its first operand alone, and returns just that.

    >>> mutates_and_returns_first_arg(torch.ops.aten.sin_.default), mutates_and_returns_first_arg(torch.ops.aten.sin.default)
    (True, False)
    """
    return mutates_and_returns_first_arg_schema(op._schema)


def mutates_and_returns_first_arg_schema(schema: Any) -> bool:
    if len(schema.returns) != 1 or not schema.arguments:
        return False
    first, result = schema.arguments[0].alias_info, schema.returns[0].alias_info
    if result is None or first is None or not first.is_write or not set(first.before_set) & set(result.after_set):
        return False
    return all([a.alias_info is None for a in schema.arguments[1:]])


def fill_defaults(schema: Any, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """All arguments of a call, with the defaults of those that were left out.

    >>> fill_defaults(torch.ops.aten.add.Tensor._schema, (1, 2), {})
    ((1, 2), {'alpha': 1})
    """
    given: list[Any] = list(args)
    named: dict[str, Any] = {}
    for i, a in enumerate(schema.arguments):
        if a.kwarg_only:
            named[a.name] = kwargs[a.name] if a.name in kwargs else a.default_value
        elif i >= len(args):
            given.append(kwargs[a.name] if a.name in kwargs else a.default_value)
    return tuple(given), named


def zip_schema(schema: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    """The arguments of a schema that a call gives, each with its value."""
    if len(schema.arguments) < len(args) + len(kwargs):
        raise AssertionError(f"schema {schema.name} has {len(schema.arguments)} arguments, {len(args) + len(kwargs)} are given")
    for i, a in enumerate(schema.arguments):
        if not a.kwarg_only and i < len(args):
            yield a, args[i]
        elif a.name in kwargs:
            yield a, kwargs[a.name]


def is_tensor_like_type(typ: Any) -> bool:
    """Whether a type is Tensor or Tensor?."""
    return str(typ) in ("Tensor", "Optional[Tensor]")


def is_tensorlist_like_type(typ: Any) -> bool:
    """Whether a type is a list of tensors, of optional ones or an optional list."""
    return str(typ) in ("List[Tensor]", "List[Optional[Tensor]]", "Optional[List[Tensor]]", "Optional[List[Optional[Tensor]]]")


def has_tensor_arg(schema: Any) -> bool:
    """Whether an operator takes tensors."""
    return any([is_tensor_like_type(a.type) or is_tensorlist_like_type(a.type) for a in schema.arguments])


def has_kwarg_only_args(schema: Any) -> bool:
    """Whether an operator has arguments that are given by name alone."""
    return any([a.kwarg_only for a in schema.arguments])


def has_kwarg_only_tensors(schema: Any) -> bool:
    """Whether an operator has tensors among the arguments that are given by name alone."""
    return any([a.kwarg_only and (is_tensor_like_type(a.type) or is_tensorlist_like_type(a.type)) for a in schema.arguments])


def mutated_args_kwargs(schema: Any) -> tuple[list[int], list[str]]:
    """Which arguments an operator writes to: the places of those by place, the names of those by name."""
    places = [i for i, a in enumerate(schema.arguments) if a.is_write and not a.kwarg_only]
    return places, [a.name for a in schema.arguments if a.is_write and a.kwarg_only]


def iter_tensors(args: Iterable[Any], kwargs: dict[str, Any], allowed_nesting: int = 1) -> Iterator[Any]:
    """The tensors among arguments, and those in lists of them."""
    def check(value: Any) -> Iterator[Any]:
        if isinstance(value, torch.Tensor):
            yield value
        elif allowed_nesting > 0 and isinstance(value, (tuple, list)):
            yield from iter_tensors(tuple(value), {}, allowed_nesting - 1)
    for value in (*args, *kwargs.values()):
        yield from check(value)


def get_device_arg_index(schema: Any) -> int | None:
    """The place of the keyword-only argument `device`, None without one.

    >>> get_device_arg_index(parse_schema("f(Tensor x, *, Device device) -> Tensor"))
    1
    """
    return next((place for place, argument in enumerate(schema.arguments)
                 if argument.kwarg_only and argument.name == "device" and str(argument.type) == "Device"), None)


tags_by_priority = [torch.Tag.needs_exact_strides, torch.Tag.needs_contiguous_strides, torch.Tag.needs_fixed_stride_order,
                    torch.Tag.flexible_layout]


def get_layout_constraint_tag(fn: Any, *, with_default: bool = True) -> Any:
    """What an operator asks of the strides of its operands: the strictest of its tags about them.

    >>> get_layout_constraint_tag(torch.ops.aten.sin.default)
    <Tag.flexible_layout: 4>
    """
    found = next((tag for tag in tags_by_priority if tag in fn.tags), None)
    if found is not None or not with_default:
        return found
    return torch.Tag.flexible_layout if is_builtin(fn) else torch.Tag.needs_exact_strides


def can_generate_trivial_fake_impl(op: Any) -> bool:
    """Whether an operator of a user only writes to operands and returns nothing, so that there is no shape to tell."""
    if is_builtin(op):
        return False
    return bool(op._schema.is_mutable) and not op._schema.returns


def generate_trivial_fake_impl(op: Any) -> Any:
    """What stands for the kernel of such an operator where there are no values."""
    def nothing(*args: Any, **kwargs: Any) -> None:
        if op._schema.returns:
            raise AssertionError("expected no returns")
    return nothing


def requires_set_python_module() -> bool:
    """Whether operators have to name the module of their rules; they do not."""
    return False
