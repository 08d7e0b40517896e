"""Tensors from existing data: tensor(), as_tensor, from_numpy, frombuffer and related functions."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.core import dtypes, exposed, kernels, storage
from retrograd.core.api import EXTRA_FUNCTIONS, entry_of, expose, overridden
from retrograd.core.arguments import resolve
from retrograd.core.device import CPU, META, names_cpu, parse_device
from retrograd.core.dispatch import resolve as resolved_bits
from retrograd.core.dlpack import check_exportable
from retrograd.core.dtypes import is_complex_type
from retrograd.core.hooks import hooks
from retrograd.core.kernels import HALVES
from retrograd.core.origin import note_made
from retrograd.core.reserved import is_reserved
from retrograd.core.schema import Schema
from retrograd.core.state import inference, switches, tls
from retrograd.core.tensor import FLAG_META, FLAG_SUBCLASS, FUNCTIONS_BY_NAME, Tensor, wrap
from retrograd.ops import late
from retrograd.ops.create.factory import NO_PINNED, require_grad
from retrograd.ops.memory.copy import copied, format_strides, meta_array

COPY_CONSTRUCT = ("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
                  "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor).")
SLOW_LIST = ("Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a "
             "single numpy.ndarray with numpy.array() before converting to a tensor.")
NOT_WRITABLE = ("The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing "
                "to this tensor will result in undefined behavior. You may want to copy the array to protect its data or "
                "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of "
                "this program.")
BUFFER_NOT_WRITABLE = ("The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you "
                       "can write to the underlying (supposedly non-writable) buffer using the tensor. You may want to copy "
                       "the buffer to protect its data or make it writable before converting it to a tensor. This type of "
                       "warning will be suppressed for the rest of this program.")
PYTHON_NUMBERS = frozenset((float, int, bool, complex))


class Once:
    """Warnings that are given only the first time."""

    given: set[str] = set()

    @classmethod
    def warn(cls, text: str) -> None:
        if text not in cls.given:
            cls.given.add(text)
            warnings.warn(text, UserWarning, stacklevel=4)


# ---- tensor()
TENSOR = Schema("tensor(Data data, *, ScalarType? dtype=None, Device? device=None, bool pin_memory=False, "
                "bool requires_grad=False, Dimname[]? names=None) -> Tensor")


PLAIN_DATA = frozenset({int, float, bool, complex, list, tuple})
PLAIN_OPTIONS = frozenset({"dtype", "device", "requires_grad"})


def tensor(*args: Any, **kwargs: Any) -> Any:
    """A new tensor with a copy of `data`: a number, nested sequences of numbers, a NumPy array, another tensor."""
    if len(args) == 1 and not kwargs and (not switches.any_mode or not tls.slow_path):
        kind = type(args[0])
        if kind is float:
            return wrap(np.asarray(args[0], dtypes.get_default_dtype().numpy))
        if kind is list:
            return wrap(sequence_array(args[0], None))
    if kwargs and len(args) == 1 and type(args[0]) in PLAIN_DATA and (not switches.any_mode or not tls.slow_path):
        dtype, device, requires_grad = kwargs.get("dtype"), kwargs.get("device"), kwargs.get("requires_grad", False)
        if kwargs.keys() <= PLAIN_OPTIONS and (dtype is None or type(dtype) is dtypes.dtype) and (
                device is None or names_cpu(device)) and type(requires_grad) is bool:
            return from_data(args[0], dtype, None, False, requires_grad)
    if overridden(args, kwargs):
        return hooks.torch_function(tensor, args, kwargs)
    _, (data, dtype, device, pin_memory, requires_grad, _names) = resolve("tensor", [TENSOR], args, kwargs)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("torch.tensor"), UserWarning, stacklevel=2)
    return from_data(data, dtype, device, pin_memory, requires_grad)


def from_data(data: Any, dtype: Any, device: Any, pin_memory: bool, requires_grad: bool) -> Any:
    """A tensor that owns a copy of `data`."""
    if pin_memory:
        raise RuntimeError(NO_PINNED)
    array = None
    if type(data).__name__ == "TypedStorage":         # as a sequence of its elements
        dtype, data = dtype or data.dtype, data.tolist()
    if isinstance(data, Tensor):
        if data._flags & FLAG_SUBCLASS and is_reserved(data.array):
            made = late.clone(data.detach()) if dtype is None else data.detach().to(dtype, copy=True)
        elif data._flags & FLAG_META:
            made = late.empty_like(data.detach(), dtype=dtype)
        else:
            source = resolved_bits(data).array
            array = copied(source, (dtype or data.dtype).numpy, format_strides(source, None))
    else:
        array = data_array(data, dtype)
    if array is not None:
        made = taken(array, "tensor")
    made = to_device(made, device)
    if requires_grad:
        require_grad(made)
    return made


def taken(array: Any, name: str) -> Any:
    """A tensor on an array that does not come from an op."""
    made = wrap(array)
    if switches.any_mode and tls.origins:
        note_made(made, name)
    return hooks.lifted(made) if switches.any_mode and tls.dispatch_modes else made


def to_device(made: Any, device: Any) -> Any:
    if device is None or device.type == made.device.type:
        return made
    return hooks.to_device(made, device)


def move(made: Any, device: Any) -> Any:
    """A new tensor on another device; only `meta` is one that needs no data."""
    device = parse_device(device)
    if device.type == "meta":
        moved = wrap(meta_array(made.array.shape, storage.strides_of(made.array), made.array.dtype))
        moved._flags |= FLAG_META
        return moved
    return made.to(device)


hooks.to_device = move


def data_array(data: Any, dtype: Any) -> Any:
    """A new array with the values of `data`."""
    if isinstance(data, np.ndarray):
        check_array(data)
        target = (dtype or dtypes.from_numpy(data.dtype)).numpy
        return copied(data, target, format_strides(data, None))
    if type(data) in PYTHON_NUMBERS or isinstance(data, np.generic):
        found = dtype or dtypes.dtype_of(data)
        return number_array(data, found.numpy)
    if not isinstance(data, Sequence) and dtypes_known(data):
        foreign = np.asarray(data)
        return copied(foreign, (dtype or dtypes.from_numpy(foreign.dtype)).numpy, format_strides(foreign, None))
    return sequence_array(data, dtype)


def dtypes_known(data: Any) -> bool:
    return any(hasattr(data, name) for name in ("__array_interface__", "__array__", "__dlpack__")) and hasattr(data, "dtype")


def number_array(data: Any, target: Any) -> Any:
    kind = target.kind
    if kind in "iu":
        check_integers([data], target)
        if isinstance(data, (int, np.integer)):
            return np.asarray(int(data) & (1 << 8 * target.itemsize) - 1, np.uint64).astype(target)
        return np.asarray(int(real_number(data))).astype(target)
    if kind == "b":
        return np.asarray(bool(data))
    if kind == "W":
        return np.asarray(data, np.complex64).astype(target)
    if kind != "c":
        data = real_number(data)
    if target in HALVES:
        return np.asarray(data, np.float32).astype(target)
    return np.asarray(data, target)


def real_number(data: Any) -> Any:
    if isinstance(data, (complex, np.complexfloating)):
        raise TypeError(f"must be real number, not {type(data).__name__}")
    return data


def check_integers(values: Any, target: Any) -> None:
    """PyTorch's errors for numbers that an integral type cannot hold."""
    info = np.iinfo(target)
    low, high = int(info.min), int(info.max)
    if target.kind == "u":
        low = -high if target.itemsize == 1 else -(1 << 63)
    for value in values:
        if isinstance(value, complex):
            raise TypeError("'complex' object cannot be interpreted as an integer")
        if isinstance(value, (int, np.integer)) and not -(1 << 63) <= value < (1 << (64 if target.kind == "u" else 63)):
            raise ValueError("Overflow when unpacking long long")
        if value != value or not low <= value <= high:
            raise RuntimeError(f"value cannot be converted to type {dtypes.BY_NUMPY[target].name} without overflow")


def sequence_array(data: Any, dtype: Any) -> Any:
    """The array of nested sequences."""
    kinds = set(map(type, data)) if type(data) is list else ()
    if len(kinds) == 1 and dtype is None:
        (kind,) = kinds
        if kind is float:
            return np.array(data, dtypes.get_default_dtype().numpy)
        if kind is bool:
            return np.array(data)
        if kind is int:
            try:
                return np.array(data, np.int64)
            except OverflowError:             # reported with PyTorch's text below
                pass
    shape = sequence_shape(data) if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) else ()
    if isinstance(data, str) and dtype is not None:
        raise TypeError("new(): invalid data type 'str'")
    found = dtypes.dtype_of(data) if dtype is None else dtype
    if shape and shape[0] and isinstance(data[0], np.ndarray):
        Once.warn(SLOW_LIST)
    target = found.numpy
    values: list[Any] = []
    flatten(data, shape, 0, values)
    return values_array(values, target).reshape(shape)


def sequence_shape(data: Any) -> tuple[int, ...]:
    """The sizes that the first items of nested sequences suggest."""
    shape: list[int] = []
    while isinstance(data, (Sequence, np.ndarray)):
        if isinstance(data, str):
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        shape.append(len(data))
        if len(shape) > 128:
            raise ValueError(f"too many dimensions '{type(data).__name__}'")
        if len(data) == 0:
            break
        data = data[0]
    return tuple(shape)


def flatten(data: Any, shape: Any, depth: int, values: list[Any]) -> None:
    """Append the numbers in `data` to `values`, refusing what does not have the expected shape."""
    if depth == len(shape):
        values.append(single_value(data))
        return
    try:
        length = len(data)
    except TypeError:
        raise TypeError("not a sequence") from None
    if length != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {length})")
    if depth == len(shape) - 1:
        if isinstance(data, np.ndarray):
            values.extend(data.tolist() if data.dtype.kind != "V" else data.astype(np.float32).tolist())
            return
        if not PYTHON_NUMBERS.issuperset(map(type, data)):
            values.extend([single_value(item) for item in data])
            return
        values.extend(data)
        return
    for item in data:
        flatten(item, shape, depth + 1, values)


def single_value(item: Any) -> Any:
    """The number of one item."""
    if type(item) in PYTHON_NUMBERS:
        return item
    if isinstance(item, Tensor):
        return item
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, np.ndarray) and item.size == 1:
        return item.item()
    if isinstance(item, (list, tuple, str, dict, type(None))):
        return item
    if hasattr(item, "__index__"):
        return item.__index__()
    return item.__float__() if hasattr(item, "__float__") else item


def values_array(values: list[Any], target: Any) -> Any:
    """A flat list of numbers as an array."""
    kind = target.kind
    for i, value in enumerate(values):
        if isinstance(value, Tensor):
            if kind in "iub" and (value.array.dtype.kind not in "iub" or value.array.size != 1):
                raise TypeError("only integer tensors of a single element can be converted to an index")
            if value.array.size != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            if kind in "fV" and is_complex_type(value.array.dtype):
                raise RuntimeError("value cannot be converted to type double without overflow")
            values[i] = value = value.item()
        if type(value) not in PYTHON_NUMBERS:
            if kind in "iu" or value is None and kind == "b":
                raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
            if kind != "b":
                raise TypeError(f"must be real number, not {type(value).__name__}")
    if kind in "iu":
        try:
            array = np.array(values, np.int64)
            if array.dtype == target and int in set(map(type, values)) and float not in set(map(type, values)):
                return array
        except (OverflowError, TypeError, ValueError):
            pass
        check_integers(values, target)
        mask = (1 << 8 * target.itemsize) - 1
        return np.array([int(v) & mask for v in values], np.uint64).astype(target)
    if kind == "b":
        return np.array([bool(v) for v in values], target)
    if kind in "cW":
        return np.array(values, np.complex128).astype(target)
    for value in values:
        if type(value) is complex:
            raise TypeError("must be real number, not complex")
    if target in HALVES:
        return np.array(values, np.float64).astype(np.float32).astype(target)
    return np.array(values, np.float64).astype(target)


# ---- sharing memory
def check_array(array: Any) -> None:
    """Refuse arrays whose memory a tensor cannot represent."""
    if not array.dtype.isnative:
        raise ValueError("given numpy array has byte order different from the native byte order. Conversion between byte "
                         "orders is currently not supported.")
    dtypes.from_numpy(array.dtype)
    for step in array.strides:
        if step < 0:
            raise ValueError("At least one stride in the given numpy array is negative, and tensors with negative strides "
                             "are not currently supported. (You can probably work around this by making a copy of your "
                             "array  with array.copy().) ")
    if array.size:
        for step in array.strides:
            if step % array.itemsize:
                raise ValueError("given numpy array strides not a multiple of the element byte size. Copy the numpy array "
                                 "to reallocate the memory.")


def share(array: Any) -> Any:
    """The array over the same memory that a tensor may hold."""
    check_array(array)
    if type(array) is not np.ndarray:
        array = array.view(np.ndarray)
    if not array.flags.writeable:
        Once.warn(NOT_WRITABLE)
    return exposed.expose(storage.adopt(array))


@expose(seen=False)
def from_numpy(array: Any) -> Any:
    """A tensor over the memory of a NumPy array."""
    if not isinstance(array, np.ndarray):
        name = type(array).__name__
        raise TypeError(f"expected np.ndarray (got {'numpy.' if isinstance(array, np.generic) else ''}{name})")
    return taken(share(array), "from_numpy")


AS_TENSOR = Schema("as_tensor(Data data, *, ScalarType? dtype=None, Device? device=None) -> Tensor")


@expose(method=False)
def as_tensor(*args: Any, **kwargs: Any) -> Any:
    """`data` as a tensor: itself, or over its memory, or a copy, whichever comes first."""
    _, (data, dtype, device) = resolve("as_tensor", [AS_TENSOR], args, kwargs)
    if isinstance(data, Tensor):
        return data if dtype is None and device is None else data.to(device=device, dtype=dtype)
    if isinstance(data, np.ndarray):
        made = taken(share(data), "as_tensor")
        return made if (dtype is None or dtype is made.dtype) and (device is None or device == CPU) else made.to(
            device=device, dtype=dtype)
    return from_data(data, dtype, device, False, False)


ASARRAY = Schema("asarray(Data obj, *, ScalarType? dtype=None, Device? device=None, bool? copy=None, "
                 "bool? requires_grad=None) -> Tensor")


@expose(method=False)
def asarray(*args: Any, **kwargs: Any) -> Any:
    """`obj` as a tensor, sharing its memory if that is possible and `copy` allows."""
    _, (obj, dtype, device, copy, requires_grad) = resolve("asarray", [ASARRAY], args, kwargs)
    made, shared = asarray_source(obj, dtype, copy)
    if shared:
        wanted = dtype or made.dtype
        if copy is False and wanted is not made.dtype:
            raise ValueError(f"can't alias tensor with dtype '{made.dtype.legacy}' into dtype '{wanted.legacy}'.")
        if copy is False and device is not None and device.type != made.device.type:
            raise ValueError(f"can't alias tensor from device '{made.device}' to '{device}'.")
        if copy or wanted is not made.dtype:
            if made.requires_grad and requires_grad is not False and wanted.category < 2:
                raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
            made = made.clone() if wanted is made.dtype else made.to(wanted)
    made = to_device(made, device)
    if requires_grad is not False and made.requires_grad and made.is_inference() and not inference():
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if requires_grad and not made.requires_grad:
        require_grad(made)
    elif requires_grad is False and made.requires_grad:
        made = made.detach()
    return made


def asarray_source(obj: Any, dtype: Any, copy: Any) -> tuple[Any, bool]:
    """A tensor for `obj` and whether it shares the object's memory."""
    if isinstance(obj, Tensor):
        return obj, True
    if isinstance(obj, np.generic):
        return wrap(np.asarray(obj)), True
    if isinstance(obj, np.ndarray):
        if not obj.flags.writeable and not copy:
            Once.warn(NOT_WRITABLE)
        check_array(obj)
        return taken(storage.adopt(obj if type(obj) is np.ndarray else obj.view(np.ndarray)), "asarray"), True
    if isinstance(obj, storage.UntypedStorage):
        return wrap(storage.bytes_of(obj.owner).view((dtype or dtypes.uint8).numpy)), True
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj), True
    if isinstance(obj, (bytes, bytearray, memoryview)) or hasattr(obj, "__array_interface__"):
        if hasattr(obj, "__array_interface__"):
            return wrap(np.asarray(obj)), True
        return frombuffer(obj, dtype=dtype or dtypes.get_default_dtype()), True
    if copy is False:
        raise ValueError("can't alias arbitrary sequence into a tensor.")
    return taken(data_array(obj, dtype), "asarray"), False


FROMBUFFER = Schema("frombuffer(Data buffer, *, ScalarType dtype, int count=-1, int offset=0, bool requires_grad=False) -> "
                    "Tensor")


@expose(method=False, seen=False)
def frombuffer(*args: Any, **kwargs: Any) -> Any:
    """A 1-d tensor over the memory of an object with the buffer protocol."""
    _, (buffer, dtype, count, offset, requires_grad) = resolve("frombuffer", [FROMBUFFER], args, kwargs)
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, item = view.nbytes, dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) "
                         "minus 1")
    if count < 0:
        if (length - offset) % item:
            raise ValueError(f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
                             f"element size ({item})")
        count = (length - offset) // item
    elif offset + count * item > length:
        raise ValueError(f"requested buffer length ({count} * {item} bytes) after offset ({offset} bytes) must not be "
                         f"greater than actual buffer length ({length} bytes)")
    if view.readonly:
        Once.warn(BUFFER_NOT_WRITABLE)
    array = np.frombuffer(view, np.uint8, count * item, offset).view(dtype.numpy)
    made = taken(storage.adopt(array), "frombuffer")
    if requires_grad:
        require_grad(made)
    return made


@expose(method=False, seen=False)
def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: Any = None) -> Any:
    """A tensor over the memory of an object that supports DLPack, or of a capsule."""
    if isinstance(ext_tensor, Tensor) and not overridden((ext_tensor,), {}):
        ext_tensor.__dlpack_device__()
        check_exportable(ext_tensor)
        made = wrap(storage.adopt(exposed.expose(ext_tensor.detach().array)))         # with a version counter of its own
    else:
        if hasattr(ext_tensor, "__dlpack_device__"):
            ext_tensor.__dlpack_device__()
        made = wrap(storage.adopt(array_of_capsule(ext_tensor)))
    if device is not None and str(device) != "cpu":
        raise BufferError(f"Cannot pack tensors on {device}")
    return made.clone() if copy else made


def array_of_capsule(exported: Any) -> Any:
    """The array over the memory of an object that supports DLPack, or of an exported capsule."""
    if not hasattr(exported, "__dlpack__"):
        if type(exported).__name__ != "PyCapsule":
            raise RuntimeError(INVALID_CAPSULE)
        exported = Exported(exported)
    try:
        return writable(np.from_dlpack(exported))
    except ValueError:
        if isinstance(exported, Exported):
            raise RuntimeError(INVALID_CAPSULE) from None
        raise


def writable(array: Any) -> Any:
    """The same memory as an array that can be written to; NumPy protects that of capsules without a version."""
    return array if array.flags.writeable else np.asarray(Borrowed(array))


class Borrowed:
    """Lends the memory of a protected array, which it keeps alive."""

    def __init__(self, array: Any) -> None:
        self.array = array
        lent = array.__array_interface__
        self.__array_interface__ = {**lent, "data": (lent["data"][0], False)}


INVALID_CAPSULE = ("from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you "
                   "might have already constructed a tensor from it once.")


class Exported:
    """A capsule as an object that exports it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **options: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


NEW_TENSOR = Schema("new_tensor(Tensor self, Data data, *, ScalarType? dtype=None, Device? device=None, "
                    "bool requires_grad=False) -> Tensor")


@expose(plain=False)
def new_tensor(*args: Any, **kwargs: Any) -> Any:
    """A new tensor with a copy of `data`, by default of the dtype and device of this one."""
    _, (self, data, dtype, device, requires_grad) = resolve("new_tensor", [NEW_TENSOR], args, kwargs, True)
    if isinstance(data, Tensor):
        warnings.warn(COPY_CONSTRUCT.format("tensor.new_tensor"), UserWarning, stacklevel=3)
    if device is None and self._flags & FLAG_META:
        device = META
    return from_data(data, dtype or self.dtype, device, False, requires_grad)


expose(lambda obj: isinstance(obj, Tensor), name="is_tensor", seen=False)
expose(lambda obj: isinstance(obj, storage.UntypedStorage) or type(obj).__name__ == "TypedStorage", name="is_storage",
       method=False, seen=False)
NUMEL = Schema("numel(Tensor self) -> int")


def numel(*args: Any, **kwargs: Any) -> int:
    if len(args) != 1 or kwargs or not isinstance(args[0], Tensor):
        args = tuple(resolve("numel", [NUMEL], args, kwargs)[1])
    return int(args[0].array.size)


expose(numel, method=False)
FUNCTIONS_BY_NAME["numel"] = EXTRA_FUNCTIONS["numel"] = entry_of(
    "numel", [NUMEL], [lambda bound: bound[0].array.size], FUNCTIONS_BY_NAME["numel"], False)
FUNCTIONS_BY_NAME["tensor"] = tensor
for name, setting in dict(get_default_dtype=dtypes.get_default_dtype, set_default_dtype=dtypes.set_default_dtype,
                          promote_types=dtypes.promote_types, can_cast=dtypes.can_cast).items():
    expose(setting, name=name, method=False, seen="default" not in name)


RESULT_TYPES = [Schema(f"result_type{args} -> ScalarType") for args in (
    "(Tensor tensor, Tensor other)", "(Scalar scalar, Tensor tensor)", "(Tensor tensor, Scalar other)",
    "(Scalar scalar1, Scalar scalar2)")]


def result_type(*operands: Any, **named: Any) -> Any:
    """The dtype that an op on these two operands would have."""
    if named or len(operands) != 2 or not all([isinstance(t, (Tensor, int, float, complex, np.number)) for t in operands]):
        operands = tuple(resolve("result_type", RESULT_TYPES, operands, named)[1])
    return kernels.common_dtype(operands)


expose(result_type, method=False)
EXTRA_FUNCTIONS["tensor"] = tensor
