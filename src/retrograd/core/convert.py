"""Argument converters: check one call argument against a schema type and bring it to canonical form.

Tensors, dtypes and similar types are recognised through the hooks below, so this file imports none of their modules.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from retrograd.core.tensor import Tensor

Converter = Callable[[Any], Any]


class ListItemError(TypeError):
    """A list argument whose later items have the wrong type: PyTorch stops there, without trying more overloads."""

    def __init__(self, value: Any, position: int, item: Any, kind: str) -> None:
        self.reason = f"item {position} of a list must be {kind}, but got {type(item).__name__}"
        super().__init__(self.reason)
        self.value = value
        self.position = position
        self.item = item
        self.kind = kind


class _Mismatch:
    """The type of ``MISMATCH``, which a converter returns for a value it refuses (cheaper than raising)."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "MISMATCH"


MISMATCH: Final[Any] = _Mismatch()


class _NoTensor:
    """Stands in until the tensor class is known."""


# ---- hooks: other modules put their classes here when they are imported -------------------------------------------

tensor_class: type = _NoTensor


def is_tensor(value: object) -> bool:
    return isinstance(value, tensor_class)


def is_dtype(value: object) -> bool:
    return type(value).__name__ == "dtype" and not isinstance(value, np.dtype)


def is_device(value: object) -> bool:
    return type(value).__name__ == "device"


def is_generator(value: object) -> bool:
    return type(value).__name__ == "Generator" and not isinstance(value, np.random.Generator)


def is_layout(value: object) -> bool:
    return type(value).__name__ == "layout"


def is_memory_format(value: object) -> bool:
    return type(value).__name__ == "memory_format"


# Python types that denote a dtype, e.g. zeros(2, dtype=float); the dtype module fills in the values.
python_dtypes: dict[type, Any] = {bool: bool, int: int, float: float, complex: complex}


def as_device(value: Any) -> Any:
    """Turn a string or an index into a device object; the device module replaces this."""
    return value


def set_hooks(**hooks: Any) -> None:
    """Install hooks by name, e.g. ``set_hooks(tensor_class=Tensor, as_device=parse_device)``."""
    for name, hook in hooks.items():
        if name not in _HOOKS:
            raise NameError(f"no hook is called {name!r}")
        globals()[name] = hook


_HOOKS: Final = frozenset({
    "as_device", "is_device", "is_dtype", "is_generator", "is_layout", "is_memory_format", "is_tensor", "python_dtypes",
    "tensor_class",
})  # fmt: skip

# ---- single values ------------------------------------------------------------------------------------------------

_INTEGER_DTYPES: Final = frozenset({
    "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64",
    "torch.uint8", "torch.int8", "torch.int16", "torch.int32", "torch.int64",
})  # fmt: skip


def _dtype_name(tensor: Tensor) -> str:
    dtype = tensor.dtype
    return getattr(dtype, "name", None) or str(dtype)


def to_tensor(value: Any) -> Any:
    return value if type(value) is tensor_class or is_tensor(value) else MISMATCH


def to_tensor_or_number(value: Any) -> Any:
    if type(value) is tensor_class or is_tensor(value):
        return value
    if type(value) is int:
        return value if -SMALL <= value <= SMALL else fitting(value)
    return value if type(value) in _NUMBER_TYPES else _plain_number(value)


_NUMBER_TYPES: Final = frozenset({int, float, bool, complex})


def _plain_number(value: Any) -> Any:
    """A number as a plain Python number: NumPy's scalars lose their type, as they do in PyTorch."""
    if isinstance(value, (int, float, complex)):
        return value
    return value.item() if isinstance(value, (np.number, np.bool_)) else MISMATCH


def to_scalar(value: Any) -> Any:
    if type(value) in _NUMBER_TYPES:
        return value if type(value) is not int or -SMALL <= value <= SMALL else fitting(value)
    if is_tensor(value):
        # A tensor in the graph would silently lose its gradient, so it is not accepted as a Scalar.
        return MISMATCH if value.ndim or value.requires_grad else value.item()
    return _plain_number(value)


SMALL: Final = 1 << 31


def fitting(number: int) -> int:
    """An integer that fits 64 bits, signed or unsigned."""
    if number >= 1 << 64:
        raise OverflowError("int too big to convert")
    if number < -(1 << 63):
        raise OverflowError("can't convert negative int to unsigned")
    return number


def to_fixed_int(value: Any) -> Any:
    """An integer that is neither a size nor an index: among tensors, only 0-d ones are accepted."""
    if type(value) is not int and is_tensor(value) and value.ndim:
        return MISMATCH
    return to_int(value)


def to_int(value: Any) -> Any:
    if type(value) is int:
        if not -SMALL <= value <= SMALL and not -(1 << 63) <= value < 1 << 63:
            raise ValueError("Overflow when unpacking long long")
        return value
    if isinstance(value, (bool, np.bool_)):
        return MISMATCH
    if is_tensor(value):
        if _dtype_name(value) not in _INTEGER_DTYPES:
            return MISMATCH
        return int(value.item()) if value.numel() == 1 else MISMATCH
    if not hasattr(value, "__index__"):
        return value if getattr(value, "is_symbolic", False) else MISMATCH       # the length of a ragged dimension
    try:
        return operator.index(value)
    except TypeError:
        return MISMATCH


def to_float(value: Any) -> Any:
    if type(value) is float:
        return value
    if isinstance(value, (int, float, np.floating, np.integer)):
        return float(value)
    if is_tensor(value) and not value.ndim and not value.requires_grad:
        number = value.item()
        return MISMATCH if isinstance(number, complex) else float(number)
    return MISMATCH


def to_bool(value: Any) -> Any:
    return value if value is True or value is False else MISMATCH


def to_str(value: Any) -> Any:
    return value if isinstance(value, str) else MISMATCH


def to_dtype(value: Any) -> Any:
    if is_dtype(value):
        return value
    return python_dtypes[value] if isinstance(value, type) and value in python_dtypes else MISMATCH


def to_device(value: Any) -> Any:
    if is_device(value):
        return value
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return as_device(value)
    return MISMATCH


def to_layout(value: Any) -> Any:
    return value if is_layout(value) else MISMATCH


def to_memory_format(value: Any) -> Any:
    return value if is_memory_format(value) else MISMATCH


def to_generator(value: Any) -> Any:
    return value if is_generator(value) else MISMATCH


def accept_anything(value: Any) -> Any:
    return value


_SINGLE: Final[dict[str, Converter]] = {
    "Tensor": to_tensor,
    "Scalar": to_scalar,
    "int": to_int,
    "float": to_float,
    "bool": to_bool,
    "str": to_str,
    "ScalarType": to_dtype,
    "Device": to_device,
    "Layout": to_layout,
    "MemoryFormat": to_memory_format,
    "Generator": to_generator,
    "Dimname": to_str,
}

# ---- lists --------------------------------------------------------------------------------------------------------


def to_int_list(value: Any) -> Any:
    """A tuple of ints. Only the first item decides whether the overload fits; a later mismatch raises immediately."""
    if not isinstance(value, (tuple, list)):
        return MISMATCH
    for item in value:
        if type(item) is not int:
            return _mixed_ints(value)
    return tuple(value)


def _mixed_ints(value: Any) -> Any:
    ints: list[int] = []
    for position, item in enumerate(value):
        # PyTorch checks for bools only in the first item; after that they are ints.
        number = int(item) if position and isinstance(item, bool) else to_int(item)
        if number is MISMATCH:
            if not position:
                return MISMATCH
            raise ListItemError(value, position, item, "int")
        ints.append(number)
    return tuple(ints)


def _sized_int_list(size: int) -> Converter:
    def to_sized_int_list(value: Any) -> Any:
        if type(value) is int:
            return (value,) * size
        if isinstance(value, (tuple, list)):
            return to_int_list(value)
        number = to_int(value)
        return number if number is MISMATCH else (number,) * size

    return to_sized_int_list


def to_tensor_list(value: Any) -> Any:
    if not isinstance(value, (tuple, list)):
        return MISMATCH
    for position, item in enumerate(value):
        if type(item) is not tensor_class and not is_tensor(item):
            raise ListItemError(value, position, item, "Tensor")
    return list(value)


def to_optional_tensor_list(value: Any) -> Any:
    if not isinstance(value, (tuple, list)):
        return MISMATCH
    for position, item in enumerate(value):
        if item is not None and not is_tensor(item):
            raise ListItemError(value, position, item, "Tensor")
    return list(value)


def _listed_number(value: Any) -> Any:
    return MISMATCH if is_tensor(value) else to_scalar(value)


def _list_of(convert_item: Converter, size: int | None) -> Converter:
    def to_list(value: Any) -> Any:
        if not isinstance(value, (tuple, list)):
            if size is None:
                return MISMATCH
            item = convert_item(value)
            return item if item is MISMATCH else (item,) * size
        items = tuple(convert_item(item) for item in value)
        return MISMATCH if any(item is MISMATCH for item in items) else items

    return to_list


# ---- choosing a converter -----------------------------------------------------------------------------------------


def _or_none(convert: Converter, none_means: Any = None) -> Converter:
    def to_optional(value: Any) -> Any:
        return none_means if value is None else convert(value)

    return to_optional


def converter_for(
    type_name: str,
    *,
    is_list: bool = False,
    list_size: int | None = None,
    allow_none: bool = False,
    none_means: Any = None,
    item_optional: bool = False,
    numbers_as_tensors: bool = False,
    symbolic: bool = False,
) -> Converter:
    """The converter for a schema type; it returns the canonical value, or MISMATCH."""
    single = _SINGLE.get(type_name, accept_anything)
    if numbers_as_tensors and type_name == "Tensor":
        single = to_tensor_or_number
    if type_name == "int" and not symbolic:
        single = to_fixed_int
    convert = single
    if is_list:
        if type_name == "int":
            convert = _sized_int_list(list_size) if list_size else to_int_list
        elif type_name == "Tensor":
            convert = to_optional_tensor_list if item_optional else to_tensor_list
        else:
            if type_name == "Scalar":           # no tensor is accepted as a number here
                single = _listed_number
            convert = _list_of(_or_none(single) if item_optional else single, list_size)
    return _or_none(convert, none_means) if allow_none or none_means is not None else convert
