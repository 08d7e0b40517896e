"""SchemaInfo: what a declaration says of memory that is shared and written, given the values of some arguments."""
from __future__ import annotations

from enum import Enum
from typing import Any

import retrograd as torch
from retrograd.core.function_schema import FunctionSchema
from retrograd.utils._pytree import tree_leaves

__all__ = ["SchemaArgType", "SchemaArgument", "SchemaInfo", "overlap"]


class SchemaArgType(Enum):
    """Whether an argument is one of the inputs or of the outputs."""

    input = 0
    output = 1


class SchemaArgument:
    """An input or output by its number.

    >>> SchemaArgument(SchemaArgType.input, 1).index
    1
    """

    def __init__(self, type: SchemaArgType, index: int) -> None:
        self.type, self.index = type, index

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SchemaArgument) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))


class SchemaInfo:
    """Answers about a schema; values that share memory make their arguments share what is said of each.

    >>> info = SchemaInfo(torch.ops.aten.add_.Tensor._schema)
    >>> info.is_mutable("self"), info.is_mutable("other")
    (True, False)
    >>> x = torch.ones(2)
    >>> info.add_argument_values({"self": x, "other": x})
    >>> info.is_mutable("other")
    True
    """

    def __init__(self, schema: FunctionSchema) -> None:
        if not isinstance(schema, FunctionSchema):
            raise TypeError(f"SchemaInfo(): expected a FunctionSchema, but got {schema!r}")
        self.schema = schema
        self.values: dict[str, Any] = {}

    def add_argument_value(self, name: str, value: Any) -> None:
        """Let the value of an argument be known."""
        if not self.has_argument(name):
            raise RuntimeError(f"Schema has no argument named {name}")
        self.values[name] = value

    def add_argument_values(self, values: dict[str, Any]) -> None:
        """Let the values of arguments be known; names that the schema does not have are left out."""
        self.values.update({name: value for name, value in values.items() if value is not None and self.has_argument(name)})

    def has_argument(self, name: str) -> bool:
        """Whether there is an argument of that name."""
        return any([argument.name == name for argument in self.schema.arguments])

    def is_mutable(self, argument: SchemaArgument | str | None = None) -> bool:
        """Whether an argument is written to, or any of them."""
        if argument is None:
            return any([self.is_mutable(SchemaArgument(SchemaArgType.input, i)) for i in range(len(self.schema.arguments))])
        index = self.index_of(argument)
        return any([self.writes(other) for other in range(len(self.schema.arguments))
                    if other == index or self.share_values(index, other)])

    def index_of(self, argument: SchemaArgument | str) -> int:
        if isinstance(argument, str):
            for i, found in enumerate(self.schema.arguments):
                if found.name == argument:
                    return i
            raise RuntimeError(f"Schema has no argument named {argument}")
        self.checked(argument)
        return argument.index

    def checked(self, argument: SchemaArgument) -> Any:
        """The argument in the schema."""
        found = self.schema.arguments if argument.type is SchemaArgType.input else self.schema.returns
        if argument.index >= len(found):
            raise RuntimeError("Invalid index for schema.")
        return found[argument.index]

    def writes(self, index: int) -> bool:
        """Whether an argument is declared as written to, or is a statistic that is updated while training."""
        argument = self.schema.arguments[index]
        if argument.is_write:
            return True
        switch = next((name for name in ("training", "train", "use_input_stats") if self.has_argument(name)), None)
        return argument.name in ("running_mean", "running_var") and switch is not None and self.values.get(switch, True) is True

    def share_values(self, a: int, b: int) -> bool:
        """Whether the known values of two arguments share memory."""
        first, second = (self.values.get(self.schema.arguments[i].name) for i in (a, b))
        return any([overlap(x, y) for x in tree_leaves(first) for y in tree_leaves(second)])

    def may_alias(self, lhs: SchemaArgument, rhs: SchemaArgument) -> bool:
        """Whether two arguments may be the same memory."""
        left, right = self.checked(lhs), self.checked(rhs)
        if lhs == rhs:
            return bool(left.type.is_list or left.type.base == "Tensor")
        if left.type.base != right.type.base or left.type.is_list != right.type.is_list:
            return False
        return self.related(lhs, rhs)

    def may_contain_alias(self, lhs: SchemaArgument, rhs: SchemaArgument) -> bool:
        """Whether one of two arguments may be, or have in it, memory of the other."""
        left, right = self.checked(lhs), self.checked(rhs)
        if left.type.base != "Tensor" or right.type.base != "Tensor":
            return False
        return lhs == rhs or left.type.is_list and right.type.is_list or self.related(lhs, rhs)

    def related(self, lhs: SchemaArgument, rhs: SchemaArgument) -> bool:
        """Whether declared sets meet, also those of inputs with the same values."""
        return any([a & b or "*" in a and "*" in b for a in self.sets_of(lhs) for b in self.sets_of(rhs)]) or (
            lhs.type is rhs.type is SchemaArgType.input and self.share_values(lhs.index, rhs.index))

    def sets_of(self, argument: SchemaArgument) -> list[set[str]]:
        found = [self.checked(argument)]
        if argument.type is SchemaArgType.input:
            found += [other for i, other in enumerate(self.schema.arguments) if self.share_values(argument.index, i)]
        return [other.alias_info.before_set for other in found if other.alias_info is not None]


def overlap(a: Any, b: Any) -> bool:
    """Whether two values are tensors over the same memory.

    >>> x = torch.ones(2, 2)
    >>> overlap(x, x[0]), overlap(x, x.clone())
    (True, False)
    """
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return False
    if a is b:
        return True
    if any([t.layout is not torch.strided or t.is_nested or not t.numel() for t in (a, b)]):
        return False
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr() and a.untyped_storage().data_ptr() != 0
