"""Overload resolution: finds the first schema that a call fits, or raises TypeError with PyTorch's text.

NOTE [Which error a failed call gets]
With several overloads PyTorch first counts arguments. If just one overload could take that many, the error explains
what is wrong with that one; otherwise it lists them all. The list is annotated by a second, cruder matcher that reads
the printed signatures ("*" counts as a parameter, a default hides a parameter's name), and we follow it in that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn

from retrograd.core import convert
from retrograd.core.convert import MISMATCH, ListItemError
from retrograd.core.opdef import fact
from retrograd.core.schema import KEYWORD_SYNONYMS, REQUIRED, Param, Schema, explainers

Arguments = tuple[Any, ...]
Keywords = Mapping[str, Any]

_TYPE_WORDS: Final[Mapping[str, str]] = {
    "Scalar": "Number",
    "ScalarType": "torch.dtype",
    "Device": "torch.device",
    "Layout": "torch.layout",
    "MemoryFormat": "torch.memory_format",
    "Generator": "torch.Generator",
    "Dimname": "name",
}


def resolve(
    name: str, overloads: Sequence[Schema], args: Arguments, kwargs: Keywords, is_method: bool = False
) -> tuple[int, list[Any]]:
    """The index of the first overload the call fits, and the call's arguments in that schema's order.

    For a method, ``args`` starts with the receiver.
    """
    if kwargs and not is_method and "out" in kwargs and kwargs["out"] is None and any(s.is_out for s in overloads):
        kwargs = {keyword: value for keyword, value in kwargs.items() if keyword != "out"}
    index = 0
    refused: Any = None
    try:
        for schema in overloads:
            try:
                bound = schema.try_bind(args, kwargs, is_method)
            except RuntimeError as error:
                # a batched tensor cannot become a number, but a later overload may accept it as a tensor
                if not getattr(error, "no_number", False):
                    raise
                bound, refused = None, error
            if bound is not None and not (is_method and schema.is_out):
                return index, bound
            index += 1
    except ListItemError as error:
        _raise_list_item_error(name, overloads[index], error, args, kwargs, is_method)
    if refused is not None:
        raise refused
    for order in stated(overloads[0], "deprecated") or ():
        reordered = in_present_order(order, overloads[0], args, kwargs, is_method)
        if reordered is not None:
            return resolve(name, overloads, *reordered, is_method)
    raise TypeError(_explain_failure(name, overloads, args, kwargs, is_method))


def stated(schema: Schema, column: str) -> Any:
    """What the row of a schema, or of the op that it is the in-place form of, says in a column."""
    own = fact(schema.name, column)
    return fact(schema.name.removesuffix("_"), column) if own is None else own


def in_present_order(
    order: str, schema: Schema, args: Arguments, kwargs: Keywords, is_method: bool
) -> tuple[Arguments, Keywords] | None:
    """Reorder the arguments of a call to a deprecated overload, such as "self, alpha, other"; None if it does not fit."""
    params = {p.name: p for p in schema.params}
    texts, names = [], []
    for older, _, present in [item.partition("=") for item in order.split(", ")]:
        p = params[present or older]
        names.append(p.name)
        texts.append(f"{p.type} {older}" + ("" if p.required or p.kwarg_only else f"={p.default}"))
    overload = Schema(f"{schema.name}({', '.join(texts)}) -> Tensor", allow_numbers_as_tensors=schema.allow_numbers_as_tensors)
    kwargs = dict(kwargs)
    out = {"out": kwargs.pop("out")} if "out" in kwargs else {}
    bound = overload.try_bind(args, kwargs, is_method)
    if bound is None:
        return None
    given = dict(zip(names, bound, strict=True))
    return tuple([given.pop(p.name) for p in schema.params if p.name in given and not p.kwarg_only]), {**given, **out}


def explain_mismatch(name: str, schema: Schema, args: Arguments, kwargs: Keywords, is_method: bool = False) -> str:
    """Why the call does not fit this one schema."""
    signature = _Signature(_visible_params(schema, is_method), schema.takes_varargs(is_method))
    return _explain_one(name, signature, args[1:] if is_method else args, kwargs)


explainers.append(explain_mismatch)


class _Signature:
    """A schema as the caller sees it: without a method's self, and with the out-variant merged in as ``out=None``."""

    def __init__(self, params: list[tuple[str, Param]], takes_varargs: bool) -> None:
        self.params = params
        self.takes_varargs = takes_varargs
        self.min_args = sum(p.required for _, p in params)
        self.max_args = len(params)
        self.max_positional = sum(not p.kwarg_only for _, p in params)

    def __str__(self) -> str:
        parts: list[str] = []
        star = False
        for name, param in self.params:
            if param.kwarg_only and not star:
                parts.append("*")
                star = True
            default = "" if param.default is REQUIRED else f" = {_default_words(param)}"
            parts.append(f"{_type_words(param)} {name}{default}")
        return f"({', '.join(parts)})"


def _visible_params(schema: Schema, is_method: bool) -> list[tuple[str, Param]]:
    visible: list[tuple[str, Param]] = []
    names = (stated(schema, "called") or {}) if is_method else {}
    for param in schema.params:
        is_self = param.name == "self" and param.type == "Tensor" and not param.is_list
        if not (is_self and is_method):
            visible.append(("input" if is_self else names.get(param.name, param.name), param))
    return visible


def _signatures(overloads: Sequence[Schema], is_method: bool) -> list[_Signature]:
    """What PyTorch would print: one signature for an overload and its out-variant together."""
    shapes: dict[tuple[tuple[str, str], ...], int] = {}
    signatures: list[_Signature] = []
    for schema in overloads:
        if is_method and (schema.is_out or not schema.takes_self):
            continue
        params = _visible_params(schema, is_method)
        outs = [p for _, p in params if p.writes and p.kwarg_only]
        inputs = [(name, p) for name, p in params if p not in outs]
        shape = tuple((name, _type_words(p)) for name, p in inputs)
        if outs:
            inputs.append(("out", Param("out", "Tensor", is_list=len(outs) > 1, default=None, kwarg_only=True)))
        signature = _Signature(inputs, schema.takes_varargs(is_method))
        if shape not in shapes:
            shapes[shape] = len(signatures)
            signatures.append(signature)
        elif outs:
            signatures[shapes[shape]] = signature
    if stated(overloads[0], "number_form") == "printed":
        signatures += [_with_number(s) for s in signatures if not any(p.type == "Scalar" for n, p in s.params if n == "other")]
    return signatures


def _with_number(signature: _Signature) -> _Signature:
    """The overload that takes a number for `other`: it has no `out`, and `alpha` may be given by position."""
    params = []
    for name, p in signature.params:
        kind = "Scalar" if name == "other" else p.type
        by_keyword = p.kwarg_only and name != "alpha"
        if name != "out":
            params.append((name, Param(name, kind, is_list=p.is_list, default=p.default, kwarg_only=by_keyword)))
    return _Signature(params, False)


def _explain_failure(
    name: str, overloads: Sequence[Schema], args: Arguments, kwargs: Keywords, is_method: bool
) -> str:
    signatures = _signatures(overloads, is_method)
    if is_method:
        args = args[1:]
    if len(signatures) == 1 and stated(overloads[0], "deprecated") is None:
        if is_method and not signatures[0].params:
            # PyTorch binds these without its argument parser, so CPython words the error.
            what = "keyword arguments" if kwargs else f"arguments ({len(args)} given)"
            return f"TensorBase.{name}() takes no {what}"
        return _explain_one(name, signatures[0], args, kwargs)
    count = len(args) + len(kwargs)
    plausible = [s for s in signatures if s.min_args <= count <= s.max_args]
    if len(plausible) == 1:
        return _explain_one(name, plausible[0], args, kwargs)
    return f"{name}() received an invalid combination of arguments - {_explain_all(signatures, args, kwargs)}"


# ---- what is wrong with one signature -----------------------------------------------------------------------------


def _explain_one(name: str, signature: _Signature, args: Arguments, kwargs: Keywords) -> str:
    takes_varargs = signature.takes_varargs and bool(args) and convert.to_int(args[0]) is not MISMATCH
    if len(args) > signature.max_positional and not takes_varargs:
        return _too_many(name, signature, len(args))
    used: set[str] = set()
    for position, (param_name, param) in enumerate(signature.params):
        positional = position < len(args) and not param.kwarg_only
        if positional:
            value = args[position]
        else:
            keyword = _keyword_used(param_name, kwargs)
            if keyword is None:
                if param.required:
                    return _missing(name, signature, position)
                continue
            used.add(keyword)
            value = kwargs[keyword]
        if positional and position == 0 and takes_varargs:
            continue
        try:
            fits = param.convert(value) is not MISMATCH
        except ListItemError:
            fits = True  # PyTorch checks later items only after choosing this signature
        if not fits:
            where = f"'{param_name}' (position {position + 1})" if positional else f"'{param_name}'"
            return f"{name}(): argument {where} must be {_type_words(param)}, {_not_what(param, value)}"
    names = [param_name for param_name, _ in signature.params]
    for keyword in kwargs:
        if keyword not in used:
            if keyword in names:
                return f"{name}() got multiple values for argument '{keyword}'"
            return f"{name}() got an unexpected keyword argument '{keyword}'"
    return f"{name}() received an invalid combination of arguments"


def _keyword_used(param_name: str, kwargs: Keywords) -> str | None:
    for keyword in (param_name, *KEYWORD_SYNONYMS.get(param_name, ())):
        if keyword in kwargs:
            return keyword
    return None


def _not_what(param: Param, value: Any) -> str:
    if param.is_list and param.type == "int" and isinstance(value, (tuple, list)) and value:
        return f"but found element of type {type_name(value[0])} at pos 0"
    return f"not {type_name(value)}"


def _too_many(name: str, signature: _Signature, given: int) -> str:
    most = signature.max_positional
    least = signature.min_args                # PyTorch counts those that are by keyword only as well
    takes = f"{most}" if least == most else f"from {least} to {most}"
    plural = "" if most == 1 and least == most else "s"
    return f"{name}() takes {takes} positional argument{plural} but {given} {'was' if given == 1 else 'were'} given"


def _missing(name: str, signature: _Signature, start: int) -> str:
    """PyTorch counts from the first missing argument and swaps singular and plural."""
    missing = [f'"{param_name}"' for param_name, p in signature.params[start:] if p.required]
    plural = "s" if len(missing) == 1 else ""
    return f"{name}() missing {len(missing)} required positional argument{plural}: {', '.join(missing)}"


def _raise_list_item_error(
    name: str, schema: Schema, error: ListItemError, args: Arguments, kwargs: Keywords, is_method: bool
) -> NoReturn:
    (signature,) = _signatures([schema], is_method) or [_Signature(_visible_params(schema, is_method), False)]
    visible = args[1:] if is_method else args
    got = type_name(error.item)
    for position, (param_name, param) in enumerate(signature.params):
        positional = position < len(visible) and not param.kwarg_only
        keyword = None if positional else _keyword_used(param_name, kwargs)
        value = visible[position] if positional else kwargs[keyword] if keyword else None
        # Separate ints were gathered into a tuple that the caller never saw.
        gathered = position == 0 and signature.takes_varargs and error.value == visible
        if value is not error.value and not gathered:
            continue
        if error.kind == "Tensor":
            # Here PyTorch counts the argument and the item from 0.
            raise TypeError(f"expected Tensor as element {error.position} in argument {position}, but got {got}")
        raise TypeError(
            f"{name}(): argument '{param_name}' failed to unpack the object at pos {error.position + 1} "
            f'with error "type must be tuple of ints,but got {got}"'
        )
    raise TypeError(f"{name}(): {error.reason}")


# ---- the list of all signatures -----------------------------------------------------------------------------------


def _explain_all(signatures: Sequence[_Signature], args: Arguments, kwargs: Keywords) -> str:
    # PyTorch walks its keyword table from the newest entry to the oldest.
    keywords = dict(reversed(list(kwargs.items())))
    options = [_Option(str(s)) for s in signatures]
    if len(options) == 1:
        (option,) = options
        unknown = option.unknown_keywords(keywords)
        if unknown:
            return f"got unrecognized keyword arguments: {', '.join(unknown)}"
        fits = option.takes_count(args, keywords)
        got = option.mark_mismatches(args, keywords) if fits else _describe_call(args, keywords)
        return f"got {got}, but expected {option.text}"
    lines = [f"got {_describe_call(args, keywords)}, but expected one of:\n"]
    for option in options:
        lines.append(f" * {option.text}\n")
        if option.takes_count(args, keywords):
            unknown = option.unknown_keywords(keywords)
            if unknown:
                why = f"some of the keywords were incorrect: {', '.join(unknown)}"
            else:
                why = f"some of the arguments have invalid types: {option.mark_mismatches(args, keywords)}"
            lines.append(f"      didn't match because {why}\n")
    return "".join(lines)


class _Option:
    """A printed signature, split at its commas: see NOTE [Which error a failed call gets]."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.items = [item.rpartition(" ") for item in text[1:-1].split(", ")]

    def takes_count(self, args: Arguments, keywords: Keywords) -> bool:
        return len(args) + len(keywords) == len(self.items)

    def unknown_keywords(self, keywords: Keywords) -> list[str]:
        """Keywords can only name the last parameters; as in PyTorch, a default hides the parameter's name."""
        names = [name for _, _, name in self.items[max(len(self.items) - len(keywords), 0) :]]
        return [keyword for keyword in keywords if keyword not in names]

    def mark_mismatches(self, args: Arguments, keywords: Keywords) -> str:
        parts: list[str] = []
        for position, (kind, _, name) in enumerate(self.items):
            is_keyword = position >= len(args)
            value = keywords.get(name) if is_keyword else args[position]
            mark = "" if type_name(value) == kind else "!"
            prefix = f"{name}=" if is_keyword else ""
            parts.append(f"{mark}{prefix}{_describe_items(value)}{mark}")
        return _parenthesize(parts, bool(args))


def _describe_call(args: Arguments, keywords: Keywords) -> str:
    parts = [type_name(value) for value in args]
    parts += [f"{keyword}={type_name(value)}" for keyword, value in keywords.items()]
    return _parenthesize(parts, bool(args))


def _parenthesize(parts: Sequence[str], has_positional: bool) -> str:
    # PyTorch drops the last comma only where there are positional arguments.
    return f"({', '.join(parts)}{', ' if parts and not has_positional else ''})"


def _describe_items(value: Any) -> str:
    names = [type_name(item) for item in value] if isinstance(value, (tuple, list)) else []
    if isinstance(value, tuple):
        return f"{type_name(value)} of ({', '.join(names)}{',' if len(names) == 1 else ''})"
    return f"list of [{', '.join(names)}]" if isinstance(value, list) else type_name(value)


# ---- names of types and values -----------------------------------------------------------------------------------


def type_name(value: Any) -> str:
    """The name PyTorch gives a value's type: C types carry their module, classes written in Python do not."""
    kind = type(value)
    if kind.__module__.partition(".")[0] in ("torch", __name__.partition(".")[0]):      # as_torch renames classes
        return f"torch.{kind.__name__}" if kind.__name__ in _NAMED_IN_TORCH else kind.__name__
    written_in_c = not kind.__flags__ & (1 << 9)
    return f"{kind.__module__}.{kind.__qualname__}" if written_in_c and kind.__module__ != "builtins" else kind.__name__


_NAMED_IN_TORCH: Final = frozenset({"Generator", "Size", "device", "dtype", "layout", "memory_format"})


def _type_words(param: Param) -> str:
    if not param.is_list:
        return _TYPE_WORDS.get(param.type, param.type)
    return f"tuple of {'name' if param.type == 'Dimname' else param.type}s"


def _default_words(param: Param) -> str:
    value = param.default
    if value == ():
        return "None"
    if isinstance(value, tuple):
        if param.list_size and len(set(value)) == 1:
            return str(value[0])
        return "{" + ",".join(map(str, value)) + "}"
    if isinstance(value, float):
        return f"{value:g}"
    return f'"{value}"' if isinstance(value, str) and param.type == "str" else str(value)
