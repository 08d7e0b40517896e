"""The types that TorchScript gives values, as objects: programs annotate with them and compare them."""
from __future__ import annotations

from typing import Any


class Type:
    """A type, which is written as TorchScript writes it; equal texts are equal types."""

    text = "Any"

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    @property
    def annotation_str(self) -> str:
        """The type as an annotation."""
        return str(self)

    def kind(self) -> Any:
        """The name of the class of types."""
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and f"{self}" == f"{other}" and self.kind() == other.kind()

    def __hash__(self) -> int:
        return hash((self.kind(), f"{self}"))

    def isSubtypeOf(self, other: Type) -> bool:
        """Whether values of this type are values of the other, too."""
        if isinstance(other, OptionalType):
            return isinstance(self, NoneType) or self == other or self.isSubtypeOf(other.getElementType())
        if isinstance(other, UnionType):
            return any([self.isSubtypeOf(part) for part in other.containedTypes()])
        number = isinstance(other, NumberType) and isinstance(self, IntType | FloatType | ComplexType)
        return isinstance(other, AnyType) or number or self == other


def simple(name: str, text: str) -> type[Type]:
    """A class of which there is one type."""
    return type(name, (Type,), {"text": text, "get": classmethod(lambda cls: cls()), "__module__": "torch",
                                "__doc__": f"The type `{text}`."})


AnyType, BoolType, ComplexType = simple("AnyType", "Any"), simple("BoolType", "bool"), simple("ComplexType", "complex")
FloatType, IntType, NoneType = simple("FloatType", "float"), simple("IntType", "int"), simple("NoneType", "NoneType")
NumberType, PyObjectType = simple("NumberType", "number"), simple("PyObjectType", "PyObject")
StringType, TensorType = simple("StringType", "str"), simple("TensorType", "Tensor")
DeviceObjType, StreamObjType = simple("DeviceObjType", "Device"), simple("StreamObjType", "Stream")


class Container(Type):
    """A type with types inside."""

    word = ""

    def __init__(self, *parts: Type) -> None:
        self.parts = list(parts)

    def __str__(self) -> str:
        return f"{self.word}[{', '.join([f'{part}' for part in self.parts])}]"

    __repr__ = __str__

    def containedTypes(self) -> list[Type]:
        """The types inside."""
        return list(self.parts)

    def getElementType(self) -> Type:
        """The first type inside."""
        return self.parts[0]


class ListType(Container):
    """A list.

    >>> ListType(IntType.get())
    List[int]
    """

    word = "List"

    @staticmethod
    def ofInts() -> ListType:
        return ListType(IntType())

    @staticmethod
    def ofFloats() -> ListType:
        return ListType(FloatType())

    @staticmethod
    def ofBools() -> ListType:
        return ListType(BoolType())

    @staticmethod
    def ofTensors() -> ListType:
        return ListType(TensorType())


class DictType(Container):
    """A dict from one type to another."""

    word = "Dict"

    def getKeyType(self) -> Type:
        """The type of keys."""
        return self.parts[0]

    def getValueType(self) -> Type:
        """The type of values."""
        return self.parts[1]


class OptionalType(Container):
    """A value or None."""

    word = "Optional"

    @staticmethod
    def ofTensor() -> OptionalType:
        return OptionalType(TensorType())


class FutureType(Container):
    """A value that comes later."""

    word = "Future"


class TupleType(Container):
    """A tuple, given the list of its types."""

    word = "Tuple"

    def __init__(self, parts: list[Type]) -> None:
        super().__init__(*parts)

    def elements(self) -> list[Type]:
        """The types of its elements."""
        return list(self.parts)


class UnionType(Container):
    """A value of one of several types, given their list."""

    word = "Union"

    def __init__(self, parts: list[Type]) -> None:
        super().__init__(*sorted(parts, key=lambda part: f"{part}"))
