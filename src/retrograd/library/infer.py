"""infer_schema: an operator's schema out of the type annotations of a Python function."""
from __future__ import annotations

import collections.abc
import functools
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, Union, get_args, get_origin

from retrograd.core.device import device
from retrograd.core.dtypes import dtype
from retrograd.core.tags import Tag
from retrograd.core.tensor import Tensor

Number = int | float | bool
# a type, how schemas spell it, and what may be around it
FORMS: dict[Any, tuple[str, tuple[str, ...]]] = {
    Tensor: ("Tensor", ("", "?", "[]", "?[]")), int: ("SymInt", ("", "?", "[]", "[]?")),
    float: ("float", ("", "?", "[]", "[]?")), bool: ("bool", ("", "?", "[]", "[]?")), str: ("str", ("", "?")),
    Number: ("Scalar", ("", "?", "[]")), dtype: ("ScalarType", ("", "?")), device: ("Device", ("", "?")),
}
RETURNS: dict[Any, str] = {Tensor: "Tensor", list[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool",
                           Number: "Scalar"}


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: str | Iterable[str],
                 op_name: str | None = None, tags: Any = ()) -> str:
    """The schema of a function with annotated arguments and results; for `Tag.out` and `Tag.inplace` the results are the
    arguments that it writes to.

    >>> import retrograd as torch
    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor: ...
    >>> infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def wrong(what: str) -> ValueError:
        return ValueError(f"infer_schema(func): {what} Got func with signature {shown(signature)})")

    try:
        hints = typing.get_type_hints(prototype_function)
    except Exception as error:
        raise wrong(f"Unsupported type annotation. It is not a type: {error}.") from error
    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise ValueError("mutates_args must either be a sequence of the names of the arguments that are mutated or the string "
                         "'unknown'. ")
    tags = as_tags(tags)
    inplace, out = Tag.inplace in tags, Tag.out in tags
    if inplace and out:
        raise AssertionError("torch.Tag.inplace and torch.Tag.out are mutually exclusive")
    written = set() if unknown else set(mutates_args)
    outs: dict[str, str] = {}                 # of the arguments that an op tagged `Tag.out` writes to, the alias sets
    parts: list[str] = []
    star = False
    for number, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        if parameter.annotation is parameter.empty:
            raise wrong(f"Parameter {name} must have a type annotation.")
        kind = spell_parameter(hints[name])
        if kind is None:
            pairs = "We do not support Tuple inputs in schema. As a workaround, please try to use List instead. For example, "
            advice = f"{pairs}{list_for(hints[name])}.\n\n" if get_origin(hints[name]) is tuple else ""
            raise wrong(f"Parameter {name} has unsupported type {hints[name]}. {advice}The valid types are: "
                        f"{valid_parameters()}.")
        if name in written or unknown and kind.startswith("Tensor"):
            if not kind.startswith("Tensor"):
                raise wrong(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            kind = f"Tensor(a{number}!){kind[len('Tensor'):]}"
            if out:
                if parameter.kind is not parameter.KEYWORD_ONLY:
                    raise wrong("torch.Tag.out requires mutable arguments to be keyword-only.")
                if not kind.endswith(")"):
                    raise wrong("torch.Tag.out only supports mutable keyword-only Tensor arguments.")
                outs[name] = f"a{number}"
        default = ""
        if parameter.default is not parameter.empty:
            default = spell_default(parameter.default)
            if default is None:
                raise wrong(f"Parameter {name} has an unsupported default value type {type(parameter.default)}. Please file an "
                            "issue on GitHub so we can prioritize this.")
            default = f"={default}"
        parts.append(f"{kind} {name}{default}")
    missing = written - set(signature.parameters)
    if missing:
        raise wrong(f"{missing} in mutates_args were not found in the custom op's signature. mutates_args should contain the "
                    "names of all args that the custom op mutates, or just the string 'unknown' if you don't know.")
    if inplace:
        first = next((name for name, p in signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD), None)
        if first is None:
            raise wrong("torch.Tag.inplace requires a positional Tensor argument.")
        if spell_parameter(hints[first]) != "Tensor":
            raise wrong("torch.Tag.inplace requires the first positional argument to be a Tensor.")
        if unknown or written != {first}:
            raise wrong("torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got "
                        f"{mutates_args if unknown else tuple(mutates_args)}.")
    if out and not outs:
        raise wrong("torch.Tag.out requires at least one mutable keyword-only Tensor argument.")
    if out:
        given = hints.get("return")
        returned = get_args(given) if get_origin(given) is tuple else (given,)
        if returned != (Tensor,) * len(outs) or len(outs) == 1 and given is not Tensor:
            raise wrong("torch.Tag.out requires the return annotation to match the mutable keyword-only Tensor arguments "
                        f"{tuple(outs)}.")
        aliased = [f"Tensor({alias}!)" for alias in outs.values()]
        result: str | None = aliased[0] if len(aliased) == 1 else f"({', '.join(aliased)})"
    elif signature.return_annotation is signature.empty:
        raise wrong("No return type annotation was provided. Please add one.")
    else:
        result = spell_return(hints["return"])
    if result is None:
        raise wrong(f"Return has unsupported type {hints['return']}. The valid types are: {RETURNS}.")
    if inplace:
        if result != "Tensor":
            raise wrong("torch.Tag.inplace requires the return annotation to be torch.Tensor.")
        result = f"Tensor(a{list(signature.parameters).index(str(first))}!)"
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def as_tags(tags: Any) -> tuple[Any, ...]:
    """One tag, several or none, as a tuple."""
    return (tags,) if isinstance(tags, Tag) else tuple(tags or ())


def list_for(kind: Any) -> Any:
    """The list that can stand for a tuple."""
    inner = [a for a in get_args(kind) if a is not Ellipsis]
    return list[inner[0]] if len(set(inner)) == 1 else list  # type: ignore[valid-type]


def shown(signature: Any) -> str:
    text = str(signature)
    for name in ("tensor.Tensor", "dtypes.dtype", "device.device"):
        text = text.replace(f"retrograd.core.{name}", f"torch.{name.partition('.')[2]}")
    return text


def valid_parameters() -> list[str]:
    """The types that a parameter may have, as schemas spell them."""
    return [base + form for base, forms in FORMS.values() for form in forms]


def spell_parameter(hint: Any) -> str | None:
    """The schema's type for an annotation, None if there is none."""
    hint, optional = without_none(hint)
    form = "?" if optional else ""
    item = item_of(hint)
    if item is not None:
        hint, item_optional = without_none(item)
        form = ("?" if item_optional else "") + "[]" + form
    for kind, (base, forms) in FORMS.items():
        if hint == kind:
            return base + form if form in forms else None
    return None


def without_none(hint: Any) -> tuple[Any, bool]:
    """An annotation without its None, and whether it had one."""
    if typing.get_origin(hint) in (Union, types.UnionType):
        rest = [a for a in typing.get_args(hint) if a is not type(None)]
        return functools.reduce(operator.or_, rest), len(rest) < len(typing.get_args(hint))
    return hint, False


def item_of(hint: Any) -> Any:
    """What a list or sequence annotation is of; None if it is no list."""
    origin = typing.get_origin(hint)
    if origin in (list, collections.abc.Sequence):
        arguments = typing.get_args(hint)
        return arguments[0] if len(arguments) == 1 else None
    return None


def spell_default(value: Any) -> Any:
    if value is None:
        return "None"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (int, float, bool)):
        return str(value)
    if isinstance(value, dtype):
        return value.name
    if isinstance(value, device):
        return f'"{value}"'
    return None


def spell_return(hint: Any) -> str | None:
    if hint is None or hint is type(None):
        return "()"
    if typing.get_origin(hint) is tuple:
        items = [spell_single_return(item) for item in typing.get_args(hint)]
        if None in items:
            return None
        return f"({', '.join([str(item) for item in items])})" if len(items) != 1 else str(items[0])
    return spell_single_return(hint)


def spell_single_return(hint: Any) -> str | None:
    if typing.get_origin(hint) is list:
        hint = list[typing.get_args(hint)[0]]  # type: ignore[misc]
    for kind, text in RETURNS.items():
        if hint == kind:
            return text
    return None
