"""The old constructors: Tensor(2, 3), Tensor([1, 2]), and the types FloatTensor, LongTensor and so on."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.api import EXTRA_FUNCTIONS, expose
from retrograd.core.arguments import resolve
from retrograd.core.convert import MISMATCH, to_int
from retrograd.core.deterministic import uninitialized
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import find_packet
from retrograd.core.schema import Schema
from retrograd.core.storage import UntypedStorage
from retrograd.core.tensor import Size, Tensor, init_tensor, wrap
from retrograd.ops.create.elements import check_size
from retrograd.ops.create.from_data import Once, data_array
from retrograd.ops.memory.resize import typed
from retrograd.ops.shared.elementwise import C_NAMES

FORMS = [
    Schema("new(*, Device? device=None) -> Tensor"),
    Schema("new(Storage storage) -> Tensor"),
    Schema("new(Tensor other) -> Tensor"),
    Schema("new(SymInt[] size, *, Device? device=None) -> Tensor"),
    Schema("new(object data, *, Device? device=None) -> Tensor"),
]


def construct(dtype: Any, args: Any, kwargs: Any, strict: bool = True) -> Any:
    """What Tensor(...) makes: an uninitialised tensor of a size, a copy of data, or another tensor again.

    `strict`: a tensor of another dtype is refused, as by FloatTensor; the plain `Tensor` takes any.
    """
    target = dtype or dtypes.get_default_dtype()
    kwargs = dict(kwargs)
    device = kwargs.pop("device", None)
    if device is not None and (getattr(device, "type", None) or str(device).partition(":")[0]) != "cpu":
        raise RuntimeError("legacy constructor expects device type: cpu but device type: "
                           f"{getattr(device, 'type', None) or str(device).partition(':')[0]} was passed")
    if not args and len(kwargs) == 1 and next(iter(kwargs)) in ("size", "data", "other", "storage"):
        name, value = kwargs.popitem()
        args = (Size(value),) if name == "size" else (value,)
    if kwargs:
        resolve("new", FORMS, args, kwargs if device is None else {**kwargs, "device": device})
    if not args:
        return wrap(np.empty(0, target.numpy))
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            return same_tensor(first, target, strict and dtype is not None)
        first = getattr(first, "_untyped_storage", first)
        if isinstance(first, UntypedStorage):
            return wrap(typed(first, target.numpy))
        if isinstance(first, Size):
            return wrap(uninitialized(np.empty(tuple(first), target.numpy)))
        if to_int(first) is MISMATCH:
            if not isinstance(first, (Sequence, np.ndarray)):
                raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
            if isinstance(first, (str, bytes)):
                raise TypeError(f"new(): invalid data type '{type(first).__name__}'")
            return wrap(data_array(first, target))
    if to_int(first) is MISMATCH:
        resolve("new", FORMS[:1] + FORMS[2:4], args, {})
    _, (size, _device) = resolve("new", FORMS[3:4], args, {})
    check_size(size)
    return wrap(uninitialized(np.empty(size, target.numpy)))


def same_tensor(other: Any, target: Any, strict: bool) -> Any:
    if strict and other.dtype is not target:
        raise TypeError(f"expected {options(target)} (got {options(other.dtype)})")
    return call(find_packet("alias").default, [other])   # type: ignore[union-attr]


def options(dtype: Any) -> str:
    name = C_NAMES[dtype.name]
    return (f"TensorOptions(dtype={name}, device=cpu, layout=Strided, requires_grad=false (default), pinned_memory=false "
            "(default), memory_format=(nullopt))")


class tensortype(type):
    """The type of FloatTensor and its like: calling one makes a tensor, and isinstance goes by dtype."""

    dtype: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return construct(cls.dtype, args, kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


tensortype.__module__ = "torch"


def make_type(dtype: Any) -> Any:
    return tensortype(f"{dtype.legacy}Tensor", (), {"dtype": dtype, "is_cuda": False, "is_sparse": False, "is_xpu": False,
                                                    "__module__": "torch"})


TYPES = {made.__name__: made for made in [
    make_type(d) for d in (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.int32,
                           dtypes.int16, dtypes.int8, dtypes.uint8, dtypes.bool_)]}
EXTRA_FUNCTIONS.update(TYPES)


def made_of(args: Any, kwargs: Any) -> Any:
    """The tensor that Tensor(...) stands for."""
    return construct(None, args, kwargs, strict=False)


def fill(t: Any, args: Any, kwargs: Any) -> None:
    """Make a bare object the tensor that Tensor(...) stands for."""
    made = made_of(args, kwargs)
    init_tensor(t, made.array)
    t._flags, t._requires, t._node, t._nr = made._flags, made._requires, made._node, made._nr
    t._counter, t._view = made._counter, made._view


hooks.legacy = made_of
hooks.construct = fill


@expose(plain=False)
def new(self: Any, *args: Any, **kwargs: Any) -> Any:
    """An old constructor call for the dtype of this tensor."""
    return construct(self.dtype, args, kwargs)


@expose(method=False)
def set_default_tensor_type(t: Any) -> None:
    """Make the dtype of a tensor type, given itself or by name, the default."""
    Once.warn("torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
              "torch.set_default_device() as alternatives.")
    if isinstance(t, str):
        found = TYPES.get(t.removeprefix("torch."))
        if found is None:
            raise ValueError(f"invalid type: '{t}'")
        t = found
    if not isinstance(t, tensortype):
        raise TypeError("invalid type object")
    if not t.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    dtypes.set_default_dtype(t.dtype)
