"""Arrays of a device of their own, and the namespace `xp` that computes with them.

They hold an ndarray, but are none: NumPy's functions refuse them, and `xp` refuses ndarrays, as CuPy does with arrays of
another device. A kernel that runs on them computes through `xp` only.
"""
from __future__ import annotations

import types
from typing import Any

import numpy as np


class DeviceArray:
    """An array that only `xp`, its own methods and operators compute with."""

    __slots__ = ("held",)
    __array_ufunc__ = None               # NumPy's ufuncs refuse it
    __hash__ = None                      # type: ignore[assignment]

    def __init__(self, held: Any) -> None:
        self.held = held

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("Implicit conversion of a device array to a NumPy array is not allowed")

    def __array_function__(self, function: Any, *rest: Any) -> Any:
        raise TypeError(f"np.{function.__name__} was called with a device array; kernels compute through xp")

    def __array_namespace__(self) -> Any:
        return xp

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return wrapped(getattr(self.held, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "held":
            object.__setattr__(self, name, value)
        else:
            setattr(self.held, name, bare(value))

    def __getitem__(self, key: Any) -> Any:
        return wrapped(self.held[bare(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.held[bare(key)] = bare(value)

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        return iter([wrapped(row) for row in self.held])

    def __bool__(self) -> bool:
        return bool(self.held)

    def __int__(self) -> int:
        return int(self.held)

    def __float__(self) -> float:
        return float(self.held)

    def __complex__(self) -> complex:
        return complex(self.held)

    def __index__(self) -> int:
        index: int = self.held.__index__()
        return index

    def __format__(self, spec: str) -> str:
        return format(self.held, spec)


def operator(name: str) -> Any:
    def run(self: Any, *others: Any) -> Any:
        result = getattr(self.held, name)(*[bare(o) for o in others])
        if name.startswith("__i"):
            self.held = result
            return self
        return wrapped(result)
    return run


for symbol in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift"):
    for prefix in ("", "r", "i"):
        setattr(DeviceArray, f"__{prefix}{symbol}__", operator(f"__{prefix}{symbol}__"))
for symbol in ("neg", "pos", "abs", "invert", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(DeviceArray, f"__{symbol}__", operator(f"__{symbol}__"))


def bare(value: Any) -> Any:
    """The held arrays of what a function of the device is given, which has no arrays of NumPy in it."""
    if isinstance(value, DeviceArray):
        return value.held
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("Unsupported type <class 'numpy.ndarray'>: arrays of NumPy are on another device")
    if isinstance(value, (list, tuple)):
        made = [bare(v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return {k: bare(v) for k, v in value.items()} if type(value) is dict else value


def wrapped(value: Any) -> Any:
    """What NumPy gives, with arrays and scalars of the device."""
    if isinstance(value, np.ndarray):
        return DeviceArray(value)
    if isinstance(value, np.generic):
        return DeviceArray(np.asarray(value))
    if isinstance(value, (list, tuple)) and any(isinstance(v, (np.ndarray, np.generic)) for v in value):
        made = [wrapped(v) for v in value]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return Function(value) if isinstance(value, (types.BuiltinMethodType, types.MethodType)) else value


class Function:
    """A function of NumPy for arrays of the device; ufuncs have their methods."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.function in (np.asarray, np.array, np.ascontiguousarray):      # they copy what is on another device
            args = (*given(args[:1]), *args[1:])
        return wrapped(self.function(*bare(args), **bare(kwargs)))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.function, name)
        return Function(found) if callable(found) else found


def given(value: Any) -> Any:
    """NumPy's arrays among the arguments of a kernel, as arrays of the device."""
    if isinstance(value, np.ndarray):
        return DeviceArray(value)
    return type(value)([given(v) for v in value]) if type(value) in (list, tuple) else value


def returned(value: Any) -> Any:
    """The arrays that a kernel gives back; it must not have made them with NumPy."""
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("the kernel returned an array of NumPy")
    if isinstance(value, DeviceArray):
        return value.held
    return type(value)([returned(v) for v in value]) if type(value) in (list, tuple) else value


class Namespace:
    """`xp`: NumPy's names, for arrays of the device."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if isinstance(found, types.ModuleType):
            return Namespace(found)
        if found is np.ndarray:
            return DeviceArray
        if isinstance(found, type) or not callable(found):
            return found                         # dtypes, errstate, pi
        return Function(found)


xp = Namespace(np)
