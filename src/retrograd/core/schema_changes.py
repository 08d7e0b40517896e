"""Whether an operator's declaration may replace an older one: for programs that know the old one, or only the new one."""
from __future__ import annotations

from typing import Any

# Types whose values an argument of a wider type takes too.
WIDER = {"int": ("number",), "float": ("number",), "complex": ("number",)}


def is_subtype(narrow: Any, wide: Any) -> bool:
    """Whether every value of a type is one of another type: an `int` is one of `int?`, `Scalar` and `Scalar?`."""
    if narrow == wide or str(wide) == "Any":
        return True
    if wide.is_optional:
        inner = wide.getElementType()
        return is_subtype(narrow.getElementType() if narrow.is_optional else narrow, inner)
    return str(wide) in WIDER.get(str(narrow), ())


def is_same_but_type(new: Any, old: Any) -> bool:
    """Whether two arguments have the same name, length and aliases, and no default of the old one is changed or lost."""
    if (new.name, new.N, str(new.alias_info)) != (old.name, old.N, str(old.alias_info)):
        return False
    if new.kwarg_only and not old.kwarg_only:
        return False
    return not old.has_default_value() or new.has_default_value() and new.default_value == old.default_value


def takes_all_of(new: Any, old: Any) -> bool:
    """Whether an argument takes every value that the old one took."""
    return is_same_but_type(new, old) and is_subtype(old.type, new.type)


def first_out(arguments: list[Any]) -> int:
    """The place of the first argument that results are written to."""
    return next((place for place, argument in enumerate(arguments) if argument.is_out), len(arguments))


def has_same_signature(new: Any, old: Any) -> bool:
    return (new.name, new.overload_name, len(new.returns)) == (old.name, old.overload_name, len(old.returns))


def is_backward_compatible(new: Any, old: Any) -> bool:
    """Whether calls written for the old declaration mean the same with the new one."""
    if not has_same_signature(new, old) or len(new.arguments) < len(old.arguments):
        return False
    if not all([takes_all_of(before, after) for after, before in zip(new.returns, old.returns, strict=True)]):
        return False
    start, start_before = first_out(new.arguments), first_out(old.arguments)
    if start < start_before or not all([argument.has_default_value() for argument in new.arguments[start_before:start]]):
        return False
    matched = new.arguments[:start_before] + new.arguments[start:][:len(old.arguments) - start_before]
    return all([takes_all_of(after, before) for after, before in zip(matched, old.arguments, strict=False)])


def forward_problem(new: Any, old: Any) -> str | None:
    """Why calls written for the new declaration may not mean the same with the old one; None if they do.

    >>> from retrograd.core.function_schema import parse_schema
    >>> forward_problem(parse_schema("f(Tensor x, int n) -> Tensor"), parse_schema("f(Tensor x) -> Tensor"))
    "Function schema is not forward compatible since the new argument 'n' of type int did not provide a default value."
    """
    if not has_same_signature(new, old):
        return ""
    start, start_before = first_out(new.arguments), first_out(old.arguments)
    if len(new.arguments) - start != len(old.arguments) - start_before:
        return "Function schema should have the same number of out arguments"
    for after, before in zip(new.arguments[:start], old.arguments[:start_before], strict=False):
        if not (is_same_but_type(after, before) and is_subtype(after.type, before.type)):
            return f"'{after.name}' is not forward compatible with the older version of the schema"
    for added in new.arguments[start_before:start]:
        shown = (f"Function schema is not forward compatible since the new argument '{added.name}' of type "
                 f"{declared(added.type)} ")
        if not added.has_default_value():
            return f"{shown}did not provide a default value."
        if added.type.is_list:
            return f"{shown}has a container type as its default value."
    for after, before in zip(new.arguments[start:], old.arguments[start_before:], strict=True):
        if not (is_same_but_type(after, before) and is_subtype(after.type, before.type)):
            return f"Out argument ''{after.name} is not FC with the older version of the schema"
    return None


def declared(kind: Any) -> str:
    """A type as declarations spell it, without lengths of lists."""
    return str(kind.base) + "".join(["[]" if mark.startswith("[") else mark for mark in kind.around])
