"""Python's operators on operands other than plain tensors: numbers, arrays, and unsupported types."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.opdef import OpDef, find_packet
from retrograd.core.tensor import FUNCTIONS_BY_NAME, Tensor, new_tensor, operators
from retrograd.ops import late
from retrograd.ops.shared.elementwise import check_sub

NUMBERS = (int, float, complex, np.number, np.bool_)


def binary(op: OpDef, a: Any, b: Any) -> Any:
    """A binary operator whose right operand is neither tensor nor number: arrays are handled, other types are refused."""
    return unsupported({"div": "truediv"}.get(op.name, op.name), a, b)


SIGNS = dict(add="+", sub="-", mul="*", truediv="/", floordiv="//", mod="%", pow="** or pow()", lshift="<<",
             rshift=">>", xor="^", **{"and": "&", "or": "|"})


def unsupported(symbol: str, a: Any, b: Any, inplace: bool = False) -> Any:
    """The outcome of an unsupported operator: NotImplemented if the right operand may handle it, else Python's error,
    raised here because Python would print a compiled class with its module."""
    sign = SIGNS.get(symbol)
    if sign is None or any([f"__r{symbol}__" in vars(kind) for kind in type(b).__mro__]):
        return NotImplemented
    shown = sign.partition(" ")[0] + "=" if inplace else sign
    raise TypeError(f"unsupported operand type(s) for {shown}: '{type(a).__name__}' and '{type(b).__name__}'")


def comparison(name: str) -> Any:
    """`==` and other comparisons: NotImplemented for operands that cannot be compared."""
    op = find_packet(name).Tensor           # type: ignore[union-attr]
    op.prepare()

    def compare(self: Any, other: Any) -> Any:
        if isinstance(other, (Tensor, *NUMBERS)):
            return operators.dispatcher.binary(op, self, other)
        if name == "eq" and isinstance(other, np.ndarray) and other.dtype in dtypes.BY_NUMPY:
            return operators.dispatcher.binary(op, self, new_tensor(other))
        if hasattr(type(other), "__torch_function__"):
            return getattr(self, name)(other)
        return NotImplemented
    return compare


def refusing(name: str, reflected: bool = False, symbol: str = "") -> Any:
    """The op called `name` as an operator: a TypeError about the arguments means that the operator does not apply."""
    def operator(self: Any, other: Any) -> Any:
        try:
            return getattr(late, name)(other, self) if reflected else getattr(late, name)(self, other)
        except TypeError:
            return NotImplemented if reflected else unsupported(symbol, self, other, name.endswith("_"))
    return operator


def rsub(self: Any, other: Any) -> Any:
    """other - self."""
    if isinstance(other, (Tensor, *NUMBERS)):
        if type(other) is bool:
            check_sub(self, other, 1)
        return late.rsub(self, other)
    return NotImplemented


def rdiv(self: Any, other: Any) -> Any:
    """other / self."""
    if not isinstance(other, (Tensor, np.ndarray, *NUMBERS)):
        return NotImplemented
    return self.reciprocal() * other


def invert(self: Any) -> Any:
    if self.array.dtype.kind not in "biu":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return late.bitwise_not(self)


FUNCTIONS_BY_NAME["__binary__"] = binary
FUNCTIONS_BY_NAME["__invert__"] = invert
FUNCTIONS_BY_NAME["__rdiv__"] = rdiv
FUNCTIONS_BY_NAME["__rsub__"] = rsub
for symbol in ("eq", "ne", "lt", "le", "gt", "ge"):
    FUNCTIONS_BY_NAME[f"__{symbol}__"] = comparison(symbol)
for symbol, function in dict(pow="pow", floordiv="floor_divide", mod="remainder", lshift="bitwise_left_shift",
                             rshift="bitwise_right_shift").items():
    FUNCTIONS_BY_NAME[f"__{symbol}__"] = refusing(function, symbol=symbol)
    FUNCTIONS_BY_NAME[f"__r{symbol}__"] = refusing(function, reflected=True)
FUNCTIONS_BY_NAME["__and__"] = refusing("bitwise_and", symbol="and")
FUNCTIONS_BY_NAME["__or__"] = refusing("bitwise_or", symbol="or")
FUNCTIONS_BY_NAME["__xor__"] = refusing("bitwise_xor", symbol="xor")
for symbol, function in dict(add="add_", sub="sub_", mul="mul_", truediv="div_", floordiv="floor_divide_", mod="remainder_",
                             pow="pow_", **{"and": "bitwise_and_", "or": "bitwise_or_", "xor": "bitwise_xor_"},
                             lshift="bitwise_left_shift_", rshift="bitwise_right_shift_").items():
    FUNCTIONS_BY_NAME[f"__i{symbol}__"] = refusing(function, symbol=symbol)
