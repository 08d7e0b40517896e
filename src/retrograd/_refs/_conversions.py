"""Reference implementations of conversions to a dtype, by the dtype's name, and of complex numbers out of parts."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import retrograd as torch
from retrograd import complex, polar

__all__ = ["bfloat16", "bool", "byte", "cdouble", "cfloat", "char", "complex", "double", "float", "half", "int", "long",
           "polar", "short"]


def conversion(name: str, dtype: Any) -> Callable[..., Any]:
    """A function that converts tensors to `dtype`."""
    def convert(self: Any, memory_format: Any = torch.preserve_format) -> Any:
        return self.to(dtype, memory_format=memory_format)
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"The tensor as {dtype}."
    return convert


bfloat16, half = conversion("bfloat16", torch.bfloat16), conversion("half", torch.float16)
float, double = conversion("float", torch.float32), conversion("double", torch.float64)
cfloat, cdouble = conversion("cfloat", torch.complex64), conversion("cdouble", torch.complex128)
bool, byte, char = conversion("bool", torch.bool), conversion("byte", torch.uint8), conversion("char", torch.int8)
short, int, long = conversion("short", torch.int16), conversion("int", torch.int32), conversion("long", torch.int64)
