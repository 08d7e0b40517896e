"""FunctionSchema: a user-written operator declaration, parsed strictly and printed as in PyTorch.

`schema.Schema` trusts the library's own tables; here every mistake raises an error that points at it.
"""
from __future__ import annotations

import itertools
import re
from typing import Any, Final

from retrograd.core import schema_changes
from retrograd.core.dtypes import ALIASES

# The printed names of argument types.
TYPES: Final = {
    "Tensor": "Tensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "SymBool": "bool", "str": "str",
    "Scalar": "number", "complex": "complex", "ScalarType": "int", "Layout": "int", "MemoryFormat": "int", "Device": "Device",
    "Generator": "Generator", "Dimname": "str", "Stream": "Stream", "Storage": "Storage", "QScheme": "QScheme",
    "DeviceIndex": "int", "Any": "Any",
}
UNKNOWN_TYPE = ("\nunknown type specifier. Common valid schema types include Tensor, SymInt, int, float, bool, Scalar; for a "
                "full list, please see https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/README.md#func ")
# Named constants that are allowed as numeric defaults.
ENUMS: Final = {"Mean": 1, "Sum": 2, "float": 6, "double": 7, "long": 4, "contiguous_format": 0, "strided": 0}
# PyTorch's numbers of dtypes, by position; schemas print a default dtype as its number.
SCALAR_TYPES: Final = (
    "uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool qint8 quint8 qint32 bfloat16 "
    "quint4x2 quint2x4 bits1x8 bits2x4 bits4x2 bits8 bits16 float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz uint16 "
    "uint32 uint64 uint1 uint2 uint3 uint4 uint5 uint6 uint7 int1 int2 int3 int4 int5 int6 int7 float8_e8m0fnu "
    "float4_e2m1fn_x2").split()
TOKEN = (r"\s*(?:(?P<ident>[A-Za-z_]\w*)|(?P<number>\d+\.?\d*(?:[eE][+-]?\d+)?)|"
         r"(?P<string_literal>'[^']*'|\"[^\"]*\")|(?P<arrow>->)|(?P<mark>::|\.\.\.|[()\[\],*=?!.|-]))")
KEYWORDS = ("None", "True", "False")


class AliasInfo:
    """Which memory an argument or result shares, and whether it is written to."""

    def __init__(self, is_write: bool, before_set: set[str], after_set: set[str]) -> None:
        self.is_write, self.before_set, self.after_set = is_write, before_set, after_set

    def __str__(self) -> str:
        before = "|".join(sorted(self.before_set)) + ("!" if self.is_write else "")
        return before if self.before_set == self.after_set else f"{before} -> {'|'.join(sorted(self.after_set))}"


class SchemaType:
    """The type of an argument: a base type and its suffixes ("?" and "[N]"), innermost first."""

    def __init__(self, base: str, around: tuple[str, ...]) -> None:
        self.base, self.around = base, around

    @property
    def is_list(self) -> bool:
        return any([mark.startswith("[") for mark in self.around])

    @property
    def is_optional(self) -> bool:
        return bool(self.around) and self.around[-1] == "?"

    def __str__(self) -> str:
        text = TYPES[self.base]
        for mark in self.around:
            text = f"Optional[{text}]" if mark == "?" else f"List[{text}]"
        return text

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaType) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def kind(self) -> str:
        """The name of the type's class: "TensorType", "OptionalType" and so on."""
        if self.around:
            return "OptionalType" if self.around[-1] == "?" else "ListType"
        return KINDS.get(TYPES[self.base], f"{TYPES[self.base].capitalize()}Type")

    def getElementType(self) -> SchemaType:
        """What an optional or a list is of."""
        if not self.around:
            raise AttributeError(f"{self} is of nothing else: it is no list and not optional")
        return SchemaType(self.base, self.around[:-1])


# How the classes of types are called, where it does not follow from how the types are shown.
KINDS: Final = {"str": "StringType", "Device": "DeviceObjType", "number": "NumberType", "Any": "AnyType"}


class OneKind(type):
    """A class of types, such as TensorType: its instances are the types of that kind."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, SchemaType) and value.kind() == cls.__name__


def kind_of_type(name: str, base: str | None) -> OneKind:
    """A class of types; `get()` is the type itself, where there is just one."""
    def get() -> SchemaType:
        return SchemaType(str(base), ())
    return OneKind(name, (), {} if base is None else {"get": staticmethod(get)})


TensorType, IntType, FloatType = [kind_of_type(f"{name}Type", base) for name, base in (
    ("Tensor", "Tensor"), ("Int", "int"), ("Float", "float"))]
BoolType, StringType, NumberType = [kind_of_type(f"{name}Type", base) for name, base in (
    ("Bool", "bool"), ("String", "str"), ("Number", "Scalar"))]
ComplexType, DeviceObjType, AnyType = [kind_of_type(f"{name}Type", base) for name, base in (
    ("Complex", "complex"), ("DeviceObj", "Device"), ("Any", "Any"))]
OptionalType, ListType = kind_of_type("OptionalType", None), kind_of_type("ListType", None)


class Argument:
    """One argument or result of a schema."""

    def __init__(self, name: str, type: SchemaType, alias_info: AliasInfo | None, default: tuple[Any, str] | None,
                 kwarg_only: bool) -> None:
        self.name, self.type, self.alias_info, self.kwarg_only = name, type, alias_info, kwarg_only
        self.default_value: Any = default[0] if default else None
        self._default = default
        sizes = [mark[1:-1] for mark in type.around if mark.startswith("[")]
        self.N = int(sizes[-1]) if sizes and sizes[-1] else None

    def has_default_value(self) -> bool:
        return self._default is not None

    @property
    def is_out(self) -> bool:
        return self.kwarg_only and self.alias_info is not None and self.alias_info.is_write

    @property
    def is_write(self) -> bool:
        return self.alias_info is not None and self.alias_info.is_write

    def __str__(self) -> str:
        text = self.type.base + (f"({self.alias_info})" if self.alias_info else "") + "".join(self.type.around)
        text += f" {self.name}" if self.name else ""
        return text + (f"={self._default[1]}" if self._default else "")


class FunctionSchema:
    """The declaration of one overload of an operator.

    >>> schema = parse_schema("my::scale(Tensor x, *, float by=2) -> Tensor")
    >>> schema
    my::scale(Tensor x, *, float by=2.) -> Tensor
    >>> [argument.name for argument in schema.arguments]
    ['x', 'by']
    """

    def __init__(self, name: str, overload_name: str, arguments: list[Argument], returns: list[Argument]) -> None:
        self.name, self.overload_name, self.arguments, self.returns = name, overload_name, arguments, returns

    @property
    def is_mutable(self) -> bool:
        return any([argument.is_write for argument in self.arguments])

    @property
    def qualified_name(self) -> str:
        return self.name + (f".{self.overload_name}" if self.overload_name else "")

    def is_backward_compatible_with(self, old: FunctionSchema) -> bool:
        """Whether calls written for an older declaration mean the same with this one."""
        return schema_changes.is_backward_compatible(self, old)

    def check_forward_compatible_with(self, old: FunctionSchema) -> tuple[bool, str]:
        """Whether calls written for this declaration mean the same with an older one, and why not."""
        problem = schema_changes.forward_problem(self, old)
        return problem is None, problem or ""

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        results = ", ".join([str(result) for result in self.returns])
        return f"{self.qualified_name}({', '.join(parts)}) -> {results if len(self.returns) == 1 else f'({results})'}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


def parse_schema(text: str) -> FunctionSchema:
    """Read a declaration such as "ns::name.overload(Tensor x) -> Tensor"; RuntimeError if it is malformed."""
    return Reader(text).schema()


class Reader:
    """Reads a schema, one token at a time."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str, int]] = []
        token = re.compile(TOKEN)     # compiled lazily, since few programs declare operators
        at = 0
        while text[at:].strip():
            match = token.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise RuntimeError(f"expected a valid token but found '{text[at]}' here:{self.marked(at, 1)}")
            kind = str(match.lastgroup)
            word = match[kind]
            self.tokens.append((word if kind == "mark" or word in KEYWORDS else kind, word, match.start(kind)))
            at = match.end()
        self.tokens.append(("eof", "", len(text)))
        self.next = 0

    # ---- tokens
    @property
    def kind(self) -> str:
        return self.tokens[self.next][0]

    def take(self, kind: str) -> str:
        """The text of the next token, which must be of this kind."""
        found, word, at = self.tokens[self.next]
        if found != kind:
            raise RuntimeError(f"expected {kind} but found '{found}' here:{self.marked(at, len(word))}")
        self.next += 1
        return word

    def taken(self, kind: str) -> bool:
        """Take the next token if it is of this kind."""
        if self.kind != kind:
            return False
        self.next += 1
        return True

    def marked(self, at: int, length: int) -> str:
        """The text with a marker under the position of the error."""
        return f"\n{self.text}" + (f"\n{' ' * at}{'~' * length} <--- HERE\n" if length else "")

    def wrong(self, what: str) -> RuntimeError:
        _, word, at = self.tokens[self.next]
        return RuntimeError(f"{what}:{self.marked(at, len(word))}")

    # ---- the parts of a schema
    def schema(self) -> FunctionSchema:
        name = self.take("ident")
        if self.taken("::"):
            name += "::" + self.take("ident")
        overload = self.take("ident") if self.taken(".") else ""
        if self.kind == "eof":
            raise RuntimeError("Tried to parse a function schema but only the operator name was given")
        arguments = self.arguments()
        self.take("arrow")
        returns = self.returns()
        self.take("eof")
        made = FunctionSchema(name, overload, arguments, returns)
        placed = [argument for argument in arguments if not argument.kwarg_only]
        for before, argument in itertools.pairwise(placed):
            if before.has_default_value() and not argument.has_default_value():
                raise RuntimeError(f"Non-default positional argument follows default argument. Parameter {argument.name} in "
                                   f"{made}")
        return made

    def arguments(self) -> list[Argument]:
        found: list[Argument] = []
        kwarg_only = False
        self.take("(")
        if self.taken(")"):
            return found
        while True:
            if self.taken("*"):
                kwarg_only = True
            else:
                kind, alias = self.type()
                name = self.take("ident")
                found.append(Argument(name, kind, alias, self.default(kind) if self.taken("=") else None, kwarg_only))
            if not self.taken(","):
                break
        self.take(")")
        return found

    def returns(self) -> list[Argument]:
        if not self.taken("("):
            return [self.result()]
        found: list[Argument] = []
        if self.taken(")"):
            return found
        found.append(self.result())
        while self.taken(","):
            found.append(self.result())
        self.take(")")
        return found

    def result(self) -> Argument:
        kind, alias = self.type()
        return Argument(self.take("ident") if self.kind == "ident" else "", kind, alias, None, False)

    def type(self) -> tuple[SchemaType, AliasInfo | None]:
        if self.kind == "ident" and self.tokens[self.next][1] not in TYPES:
            raise self.wrong(UNKNOWN_TYPE)
        base = self.take("ident")
        alias = self.alias() if self.taken("(") else None
        if alias is None and self.taken("!"):       # written to, without an alias name
            alias = AliasInfo(True, {f"${self.next}"}, set())
        around: list[str] = []
        while self.kind in ("?", "["):
            if self.taken("?"):
                if not around or around[-1] != "?":
                    around.append("?")
            else:
                self.take("[")
                around.append(f"[{self.take('number') if self.kind == 'number' else ''}]")
                self.take("]")
        return SchemaType(base, tuple(around)), alias

    def alias(self) -> AliasInfo:
        before = self.alias_set()
        writes = self.taken("!")
        after = self.alias_set() if self.taken("arrow") else before
        self.take(")")
        return AliasInfo(writes, before, after)

    def alias_set(self) -> set[str]:
        found = set()
        while True:
            found.add("*" if self.taken("*") else self.take("ident"))
            if not self.taken("|"):
                return found

    def default(self, kind: SchemaType) -> tuple[Any, str]:
        """The value of a default and its printed form."""
        if self.taken("None"):
            return None, "None"
        if kind.is_list and self.taken("["):
            items: list[tuple[Any, str]] = []
            while self.kind != "]":
                items.append(self.single(kind.base))
                if not self.taken(","):
                    break
            self.take("]")
            return spell_list(kind, items)
        value, shown = self.single(kind.base)
        sizes = [mark[1:-1] for mark in kind.around if mark.startswith("[")]
        return spell_list(kind, [(value, shown)] * int(sizes[-1])) if sizes and sizes[-1] else (value, shown)

    def single(self, base: str) -> tuple[Any, str]:
        if base in ("Tensor", "Generator", "Storage", "Stream"):
            self.take("None")
        if base in ("str", "Device", "Dimname"):
            word = self.take("string_literal")[1:-1]
            return word, word if base == "Device" else f'"{word}"'
        if self.kind in ("True", "False") and base in ("bool", "SymBool", "Scalar"):
            value = self.taken("True") or not self.taken("False")
            return value, str(value)
        if base == "bool":
            self.take("True")
        if self.kind == "ident" and self.tokens[self.next][1] in ENUMS:
            number = ENUMS[self.take("ident")]
            return number, str(number)
        if self.kind == "ident" and base == "ScalarType":
            word = self.tokens[self.next][1]
            full = ALIASES[word].name if word in ALIASES else word
            if full in SCALAR_TYPES:
                self.take("ident")
                return SCALAR_TYPES.index(full), str(SCALAR_TYPES.index(full))
        sign = "-" if self.taken("-") else ""
        if self.kind != "number":
            self.next += self.kind != "eof"           # PyTorch's marker is one token further
            raise self.wrong("\ninvalid numeric default value")
        word = sign + self.take("number")
        if base == "float" or any([c in word for c in ".eE"]):
            return float(word), spell_float(float(word))
        return int(word), word


def spell_list(kind: SchemaType, items: list[tuple[Any, str]]) -> tuple[Any, str]:
    """The value of a list default and its printed form: several equal ints are one number."""
    values = [value for value, _ in items]
    if values and (kind.is_optional or kind.base == "int" and len(values) > 1) and values.count(values[0]) == len(values):
        return values, items[0][1]
    return values, f"[{', '.join([shown for _, shown in items])}]"


def spell_float(value: float) -> str:
    """A float as schemas show it: 1. and 1.5 and 0.10000000000000001."""
    text = f"{value:.17g}"
    return text + ("." if text.lstrip("-").isdigit() else "")
