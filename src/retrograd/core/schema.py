"""Operator schemas: parses PyTorch's schema language and binds call arguments to it.

A ``Schema`` is built from one line such as ``add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor``.
Hundreds are built at import, so only the name is read at once; parameters and returns are parsed on first use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from retrograd.core import convert
from retrograd.core.convert import MISMATCH, Converter, ListItemError, set_hooks

__all__ = ["MISMATCH", "REQUIRED", "ListItemError", "Param", "Return", "Schema", "set_hooks"]


class _Required:
    """The type of ``REQUIRED``, a default value that no caller can pass by accident."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()
# Explains a call that does not fit; set by `arguments`, which depends on this module.
explainers: list[Callable[..., str]] = []

# NumPy-style argument names that PyTorch also accepts, keyed by PyTorch's name.
KEYWORD_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "dim": ("axis",),
    "keepdim": ("keepdims",),
    "input": ("x", "a", "x1"),
    "other": ("x2",),
}

_BASE_TYPES: Final[Mapping[str, str]] = {"SymInt": "int", "SymBool": "bool", "DeviceIndex": "int"}
# Named constants that schemas use as defaults (reductions are small integers in PyTorch's enum).
_NAMED_DEFAULTS: Final[Mapping[str, object]] = {
    "None": None, "True": True, "False": False, "Mean": 1, "Sum": 2, "inf": float("inf"),
}  # fmt: skip

# A comma separates items unless it stands inside a default such as [0, 1].
_COMMA = re.compile(r",\s*(?![^\[\]]*\])")
_ITEM = re.compile(r"(\w+)(?:\(([^)]*)\))?((?:\?|\[\d*\])*)(?:\s+(\w+))?(?:\s*=\s*(.*))?\s*$")
_LIST_SIZE = re.compile(r"\[(\d*)\]")


class Param:
    """One parameter of a schema."""

    __slots__ = (
        "alias", "convert", "default", "is_list", "item_optional", "kwarg_only", "list_size", "name", "optional",
        "type", "writes",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        type: str,
        *,
        is_list: bool = False,
        list_size: int | None = None,
        optional: bool = False,
        item_optional: bool = False,
        default: Any = REQUIRED,
        kwarg_only: bool = False,
        alias: str | None = None,
        writes: bool = False,
        numbers_as_tensors: bool = False,
        symbolic: bool = False,
    ) -> None:
        self.name = name
        self.type = type
        self.is_list = is_list
        self.list_size = list_size
        self.optional = optional
        self.item_optional = item_optional
        self.default = default
        self.kwarg_only = kwarg_only
        self.alias = alias
        self.writes = writes
        self.convert: Converter = convert.converter_for(
            type,
            is_list=is_list,
            list_size=list_size,
            # PyTorch also lets None stand for an argument whose default is None.
            allow_none=optional or default is None,
            # ... and, for a list whose default is empty, for that empty list.
            none_means=() if is_list and default == () and not optional else None,
            item_optional=item_optional,
            numbers_as_tensors=numbers_as_tensors and not writes,
            symbolic=symbolic,
        )

    @property
    def required(self) -> bool:
        return self.default is REQUIRED

    def __repr__(self) -> str:
        default = "" if self.default is REQUIRED else f"={self.default!r}"
        return f"Param({_spell_type(self)} {self.name}{default})"


class Return:
    """One result of a schema."""

    __slots__ = ("alias", "is_list", "name", "type", "writes")

    def __init__(self, type: str, is_list: bool, name: str | None, alias: str | None, writes: bool) -> None:
        self.type = type
        self.is_list = is_list
        self.name = name
        self.alias = alias
        self.writes = writes

    def __repr__(self) -> str:
        return f"Return({_spell_type(self)}{' ' + self.name if self.name else ''})"


class Schema:
    """One overload of an operator: its name, parameters and returns, and how calls bind to it."""

    __slots__ = (
        "_converters", "_defaults", "_function_keywords", "_method_keywords", "_out_indexes", "_positional", "_required",
        "_self_index", "_varargs_function", "_varargs_method", "allow_numbers_as_tensors", "is_inplace", "is_out", "is_view",
        "mutable", "name", "overload", "params", "returns", "tensor_params", "text",
    )  # fmt: skip

    name: str
    overload: str
    text: str
    params: tuple[Param, ...]
    returns: tuple[Return, ...]
    tensor_params: tuple[int, ...]
    is_view: bool
    is_inplace: bool
    is_out: bool
    mutable: bool

    def __init__(self, text: str, *, allow_numbers_as_tensors: bool = False) -> None:
        head, parenthesis, _ = text.partition("(")
        name, _, overload = head.lstrip().partition(".")
        if not parenthesis or not name.replace(":", "_").isidentifier():
            raise ValueError(f"not an operator schema: {text!r}")
        self.text = text
        self.name = name.rpartition(":")[2]
        self.overload = overload
        self.allow_numbers_as_tensors = allow_numbers_as_tensors

    def __repr__(self) -> str:
        return f"Schema({self.text!r})"

    def __getattr__(self, attribute: str) -> Any:
        # Only reached while a slot is still empty, that is, until the text has been parsed.
        if attribute not in Schema.__slots__ or attribute == "text":
            raise AttributeError(attribute)
        self._parse()
        return object.__getattribute__(self, attribute)

    def _parse(self) -> None:
        inside, returns = _split_signature(self.text)
        self.params = params = _parse_params(inside, self.allow_numbers_as_tensors)
        self.returns = _parse_returns(returns)
        self.tensor_params = tuple(i for i, p in enumerate(params) if p.type == "Tensor")
        self.is_view = any(r.alias is not None and not r.writes for r in self.returns)
        self.is_inplace = bool(params) and params[0].name == "self" and params[0].writes
        self.is_out = any(p.writes and p.kwarg_only for p in params)
        self.mutable = any(p.writes for p in params)

        self._out_indexes = tuple(i for i, p in enumerate(params) if p.writes and p.kwarg_only)
        self._converters = tuple(p.convert for p in params)
        self._defaults = [p.default for p in params]
        self._positional = sum(not p.kwarg_only for p in params)
        self._required = max((i + 1 for i, p in enumerate(params) if p.required), default=0)
        self._self_index = next((i for i, p in enumerate(params) if p.name == "self" and p.type == "Tensor"), -1)
        self._function_keywords = _keywords(params, self._self_index, is_method=False)
        self._method_keywords = _keywords(params, self._self_index, is_method=True)
        # x.view(2, 3) and zeros(2, 3): allowed only where the list is the one positional parameter.
        sole = [i for i, p in enumerate(params) if not p.kwarg_only]
        self._varargs_function = len(sole) == 1 and _is_int_list(params[0])
        self._varargs_method = len(sole) == 2 and self._self_index == 0 and _is_int_list(params[1])

    @property
    def takes_self(self) -> bool:
        """Whether this overload can be a method, that is, has a tensor receiver."""
        return self._self_index >= 0

    @property
    def writes_list(self) -> bool:
        """Whether a call writes to its first argument, a list of tensors, and returns nothing: functions return that list."""
        return not self.returns and bool(self.params) and self.params[0].writes and self.params[0].is_list

    def takes_varargs(self, is_method: bool) -> bool:
        """Whether a list of ints may be spelled as separate positional arguments."""
        return self._varargs_method if is_method else self._varargs_function

    def keywords(self, is_method: bool) -> Mapping[str, int]:
        """The keywords a call may use, and the parameter index of each."""
        return self._method_keywords if is_method else self._function_keywords

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], is_method: bool = False) -> list[Any]:
        """The call's arguments in schema order, defaults filled in; TypeError when they do not fit."""
        bound = self.try_bind(args, kwargs, is_method)
        if bound is None:
            raise TypeError(explainers[0](self.name, self, args, kwargs, is_method))
        return bound

    def try_bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], is_method: bool = False) -> list[Any] | None:
        """Like ``bind`` but None when the call does not fit, which is cheap enough for overload resolution.

        A list whose first item fits and a later one does not still raises ListItemError, since PyTorch stops there too.
        """
        count = len(args)
        if is_method and self._self_index:
            if self._self_index < 0:
                return None
            args, kwargs = self._move_self(args, kwargs)
            count = len(args)
            is_method = False
        elif count and (self._varargs_method if is_method else self._varargs_function):
            first = 1 if is_method else 0
            if count > first and convert.to_int(args[first]) is not MISMATCH:
                args = (*args[:first], args[first:])
                count = first + 1
        if count > self._positional or (count < self._required and not kwargs):
            return None
        bound: list[Any] = []
        append = bound.append
        for to_canonical, value in zip(self._converters, args, strict=False):
            canonical = to_canonical(value)
            if canonical is MISMATCH:
                return None
            append(canonical)
        if not kwargs:
            if count < len(self._defaults):
                bound += self._defaults[count:]
            return bound
        return self._bind_keywords(bound, count, kwargs, is_method)

    def _bind_keywords(
        self, bound: list[Any], count: int, kwargs: Mapping[str, Any], is_method: bool
    ) -> list[Any] | None:
        bound += self._defaults[count:]
        index_of = self._method_keywords if is_method else self._function_keywords
        filled: set[int] = set()
        if len(self._out_indexes) > 1 and "out" in kwargs:
            kwargs = self._spread_out(kwargs)
        for keyword, value in kwargs.items():
            index = index_of.get(keyword, -1)
            if index < count or index in filled:
                return None
            filled.add(index)
            canonical = self._converters[index](value)
            if canonical is MISMATCH:
                return None
            bound[index] = canonical
        for index in range(count, self._required):
            if bound[index] is REQUIRED:
                return None
        return bound

    def _spread_out(self, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Give each item of ``out=(values, indices)`` the name the schema has for it."""
        outs = convert.to_tensor_list(kwargs["out"])
        if outs is MISMATCH or len(outs) != len(self._out_indexes):
            return kwargs
        rest = {keyword: value for keyword, value in kwargs.items() if keyword != "out"}
        names = (self.params[index].name for index in self._out_indexes)
        return {**rest, **dict(zip(names, outs, strict=True))}

    def _move_self(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """Put a method's receiver where the schema has it (``where`` takes its condition before self)."""
        at = self._self_index
        if len(args) > at:
            return (*args[1 : at + 1], args[0], *args[at + 1 :]), kwargs
        return args[1:], {**kwargs, "input": args[0]}


def _is_int_list(param: Param) -> bool:
    return param.is_list and param.type == "int"


def _keywords(params: Sequence[Param], self_index: int, is_method: bool) -> dict[str, int]:
    """Keyword -> parameter index. Functions call self "input"; a method's receiver has no keyword at all."""
    names = [p.name for p in params]
    if self_index >= 0:
        names[self_index] = "input"
    index_of = {name: i for i, name in enumerate(names) if not (is_method and i == self_index)}
    for name, synonyms in KEYWORD_SYNONYMS.items():
        if name in index_of:
            for synonym in synonyms:
                index_of.setdefault(synonym, index_of[name])
    return index_of


def _split_signature(text: str) -> tuple[str, str]:
    """The text of the parameters, and the text after the arrow."""
    start = text.index("(") + 1
    # The last arrow: one inside "Tensor(a -> *)" marks aliasing, not the returns.
    arrow = text.rfind(") -> ")
    if arrow < 0:
        return text[start : text.rindex(")")], ""
    # "(...) -> (Tensor(a) x, ...)" may itself hold ") -> " only inside the parameters, so rfind is right.
    return text[start:arrow], text[arrow + 5 :].strip()


def _parse_params(inside: str, allow_numbers: bool) -> tuple[Param, ...]:
    params: list[Param] = []
    kwarg_only = False
    for item in _COMMA.split(inside) if inside.strip() else ():
        if item.strip() == "*":
            kwarg_only = True
            continue
        base, alias, modifiers, name, default, symbolic = _match_item(item)
        is_list = "[" in modifiers
        size = _LIST_SIZE.search(modifiers)
        list_size = int(size[1]) if size and size[1] else None
        params.append(
            Param(
                name,
                base,
                is_list=is_list,
                list_size=list_size,
                optional=modifiers.endswith("?"),
                item_optional=is_list and modifiers.startswith("?"),
                default=REQUIRED if default is None else _parse_default(default, base, is_list, list_size),
                kwarg_only=kwarg_only,
                alias=_alias_name(alias),
                writes=alias is not None and "!" in alias,
                numbers_as_tensors=allow_numbers,
                symbolic=symbolic,
            )
        )
    return tuple(params)


def _parse_returns(text: str) -> tuple[Return, ...]:
    if text.startswith("("):
        text = text[1:-1]
    returns: list[Return] = []
    for item in _COMMA.split(text) if text.strip() else ():
        base, alias, modifiers, name, _, _ = _match_item(item)
        returns.append(
            Return(base, "[" in modifiers, name, _alias_name(alias), alias is not None and "!" in alias)
        )
    return tuple(returns)


def _match_item(item: str) -> tuple[str, str | None, str, Any, str | None, bool]:
    match = _ITEM.match(item.strip())
    if match is None:
        raise ValueError(f"cannot parse {item!r} in an operator schema")
    base, alias, modifiers, name, default = match.groups()
    return _BASE_TYPES.get(base, base), alias, modifiers, name, default, base == "SymInt"


def _alias_name(alias: str | None) -> str | None:
    """The set an argument aliases: "a" for each of "a", "a!" and "a -> *"."""
    return alias.partition("->")[0].strip().rstrip("!") if alias else None


def _parse_default(text: str, base: str, is_list: bool, list_size: int | None) -> object:
    text = text.strip()
    if text.startswith("["):
        items = text[1:-1].strip()
        return tuple(_parse_default(item, base, False, None) for item in items.split(",")) if items else ()
    if text in _NAMED_DEFAULTS:
        value = _NAMED_DEFAULTS[text]
    elif text[0] in "'\"":
        value = text[1:-1]
    else:
        value = _parse_number(text)
    if is_list and value is not None:
        return (value,) * (list_size or 1)
    return float(value) if base == "float" and isinstance(value, int) else value


def _parse_number(text: str) -> object:
    for parse in (int, float):
        try:
            return parse(text)
        except ValueError:
            continue
    return text  # an enum constant such as contiguous_format, left by name


def _spell_type(item: Param | Return) -> str:
    """The type as schemas spell it, for reprs."""
    text = item.type
    if item.alias:
        text += f"({item.alias}{'!' if item.writes else ''})"
    if isinstance(item, Return):
        return text + ("[]" if item.is_list else "")
    text += "?" if item.item_optional else ""
    text += f"[{item.list_size or ''}]" if item.is_list else ""
    return text + ("?" if item.optional else "")
