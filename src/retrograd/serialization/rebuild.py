"""The functions that pickles name to make tensors again; every argument is checked, since a file may say anything.

NOTE [Geometry from files]
A tensor is an array over a storage, at an offset, with sizes and strides. Nothing below this file checks them again, so a
tensor is made only if its first and last element lie inside the storage. Sizes and strides are plain ints, not negative.
"""
from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import numpy as np

from retrograd.core import dtypes, storage, subclass
from retrograd.core.device import device
from retrograd.core.dtypes import is_complex_type
from retrograd.core.rng.mersenne import Generator as PlainGenerator
from retrograd.core.tensor import FLAG_CONJ, FLAG_META, FLAG_NEG, FLAG_WRAPPER, Size, Tensor, counter_of, new_tensor
from retrograd.methods.copies import rebuild_wrapper_subclass
from retrograd.serialization.errors import UnpicklingError, shown
from retrograd.serialization.places import WITHOUT_DATA
from retrograd.storage import TypedStorage, UntypedStorage

PACKAGE = "retrograd"
MAX_DIMS = 64               # NumPy's limit
LIMIT = 2 ** 63
GENERATOR_BYTES = 5056      # the state of a random generator, seed and all


def public(name: str) -> Any:
    """A name of the public API, which `import retrograd` loads on demand."""
    return getattr(import_module(PACKAGE), name)


def plain_sizes(values: Any) -> tuple[int, ...]:
    """Sizes or strides from a file."""
    if type(values) not in (tuple, list, Size) or len(values) > MAX_DIMS:
        raise UnpicklingError("the sizes and strides of a tensor must be tuples of ints")
    for value in values:
        if type(value) is not int or not 0 <= value < LIMIT:
            raise UnpicklingError("the sizes and strides of a tensor must be non-negative ints")
    return tuple(values)


def plain_flag(value: Any) -> bool:
    if type(value) is not bool:
        raise UnpicklingError(f"requires_grad must be True or False, not {type(value).__name__}")
    return value


def plain_tensor(value: Any) -> Any:
    if not isinstance(value, Tensor) or value.array is None or value._flags & FLAG_WRAPPER:
        raise UnpicklingError(f"expected a tensor, not {type(value).__name__}")
    return value


def plain_dtype(value: Any) -> Any:
    if type(value) is not dtypes.dtype:
        raise UnpicklingError(f"expected a dtype, not {type(value).__name__}")
    return value


def mark_requires_grad(t: Any, requires_grad: Any) -> Any:
    if plain_flag(requires_grad):
        if t.dtype.category < 2:
            raise UnpicklingError("only Tensors of floating point and complex dtype can require gradients")
        t._requires = True
    return t


# ---- strided tensors
def rebuild_tensor(typed: Any, offset: Any, size: Any, stride: Any, requires_grad: Any = False, hooks: Any = None,
                   metadata: Any = None) -> Any:
    """A tensor on memory that others may share."""
    if type(typed) is not TypedStorage:
        raise UnpicklingError(f"expected a storage with a dtype, not {type(typed).__name__}")
    return rebuild_typed(typed, offset, size, stride, requires_grad, hooks, typed.dtype, metadata)


def rebuild_typed(stored: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, dtype: Any,
                  metadata: Any = None) -> Any:
    """The same for a storage of bytes, with the dtype given."""
    t = new_tensor(placed(stored, offset, size, stride, plain_dtype(dtype)))
    counter_of(t).n = 1                    # PyTorch makes it by `set_`, a write
    if stored.untyped() in WITHOUT_DATA:
        t._flags |= FLAG_META
    mark_requires_grad(t, requires_grad)
    if metadata is not None:
        if type(metadata) is not dict:
            raise UnpicklingError(f"the metadata of a tensor must be a dict, not {type(metadata).__name__}")
        if is_complex_type(t.array.dtype) and metadata.get("conj") is True:
            t._flags |= FLAG_CONJ
        if metadata.get("neg") is True:
            t._flags |= FLAG_NEG
    return t


def placed(stored: Any, offset: Any, size: Any, stride: Any, dtype: Any) -> Any:
    """An array over a storage; see NOTE [Geometry from files]."""
    if type(stored) is not TypedStorage and type(stored) is not UntypedStorage:
        raise UnpicklingError(f"expected a storage, not {type(stored).__name__}")
    if type(offset) is not int or not 0 <= offset < LIMIT:
        raise UnpicklingError("the storage offset of a tensor must be a non-negative int")
    size, stride = plain_sizes(size), plain_sizes(stride)
    if len(size) != len(stride):
        raise UnpicklingError(f"a tensor has {len(size)} sizes but {len(stride)} strides")
    memory, item = storage.bytes_of(stored.untyped().owner), dtype.numpy.itemsize
    empty = 0 in size
    if not empty:
        last = offset + sum([(n - 1) * s for n, s in zip(size, stride, strict=True)])
        if (last + 1) * item > memory.nbytes:
            raise UnpicklingError(f"a tensor of size {size}, stride {stride} and offset {offset} does not fit into its storage "
                                  f"of {memory.nbytes} bytes")
    if dtype is dtypes.bool_ and stored.untyped() not in WITHOUT_DATA:
        check_bools(stored.untyped(), memory)
    try:
        return np.ndarray(size, dtype.numpy, memory, 0 if empty else offset * item, tuple([s * item for s in stride]))
    except (ValueError, OverflowError) as error:
        raise UnpicklingError(f"a tensor of size {size} and stride {stride} is too large") from error


def check_bools(stored: UntypedStorage, memory: Any) -> None:
    """Bytes other than 0 and 1 are no bools; NumPy and C code rely on that."""
    if stored not in CHECKED:                       # once: many tensors may share a storage
        if memory.nbytes and memory.max() > 1:
            raise UnpicklingError("the storage of a bool tensor has bytes other than 0 and 1")
        CHECKED.add(stored)


CHECKED: WeakSet[UntypedStorage] = WeakSet()


def set_geometry(t: Any, state: Any) -> None:
    """What files of PyTorch 0.1 do to an empty tensor: give it a storage."""
    if type(state) is not tuple or len(state) != 4 or type(state[0]) is not TypedStorage:
        raise UnpicklingError("the state of a tensor must be its storage, offset, size and stride")
    t.array = placed(*state, state[0].dtype)


# ---- other kinds
def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any = None) -> Any:
    """A parameter with the memory of `data`."""
    if plain_flag(requires_grad) and plain_tensor(data).dtype.category < 2:
        raise UnpicklingError("Only Tensors of floating point and complex dtype can require gradients")
    return import_module(f"{PACKAGE}.nn").Parameter(plain_tensor(data), requires_grad)


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    """A parameter with attributes."""
    made = rebuild_parameter(data, requires_grad)
    set_attributes(made, state)
    return made


def rebuild_meta(dtype: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    """A tensor without data."""
    return public("empty_strided")(plain_sizes(size), plain_sizes(stride), dtype=plain_dtype(dtype), device="meta",
                                   requires_grad=plain_flag(requires_grad))


def rebuild_on_device(data: Any, dtype: Any, where: Any, requires_grad: Any) -> Any:
    """A copy of a tensor on another device; only the cpu is here."""
    if type(where) is str:
        where = device(where)
    if type(where) is not device or where.type != "cpu":
        raise UnpicklingError("a tensor of another device than the cpu cannot be loaded")
    return mark_requires_grad(plain_tensor(data).detach().to(plain_dtype(dtype)), requires_grad)


def rebuild_sparse(layout: Any, data: Any) -> Any:
    """A sparse tensor; its indices are checked against its size."""
    if type(data) is not tuple or not 3 <= len(data) <= 4:
        raise UnpicklingError("a sparse tensor needs its indices, values and size")
    name = getattr(layout, "name", None)
    if name == "sparse_coo":
        indices, values, size = map(plain_part, data[:3])
        coalesced = None if len(data) == 3 else data[3]
        if type(coalesced) not in (bool, type(None)) or indices.dtype is not dtypes.int64:
            raise UnpicklingError("the indices of a sparse tensor must be int64, and its is_coalesced a bool")
        return public("sparse_coo_tensor")(indices, values, size, check_invariants=True, is_coalesced=coalesced)
    if name not in ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc") or len(data) != 4:
        raise UnpicklingError("a sparse tensor has layout sparse_coo, sparse_csr, sparse_csc, sparse_bsr or sparse_bsc")
    compressed, positions, values, size = map(plain_part, data)
    for part in (compressed, positions):
        if part.dtype not in (dtypes.int64, dtypes.int32):
            raise UnpicklingError("the indices of a sparse tensor must be int64 or int32")
    return public("sparse_compressed_tensor")(compressed, positions, values, size, layout=layout, check_invariants=True)


def rebuild_jagged(given: Any) -> Any:
    """A jagged nested tensor; where its parts lie is checked against the values."""
    if type(given) is not dict:
        raise UnpicklingError("a jagged tensor needs its values and offsets")
    values, offsets, lengths = plain_part(given.get("values")), plain_part(given.get("offsets")), given.get("lengths")
    axis = given.get("_ragged_idx", 1)
    if type(values) is not Tensor or type(axis) is not int or not 1 <= axis <= values.ndim:
        raise UnpicklingError("the ragged dimension of a jagged tensor must be one of its values")
    total = values.shape[axis - 1]
    starts = places_of(offsets, total)
    if any([a > b for a, b in pairwise(starts)]):
        raise UnpicklingError("the offsets of a jagged tensor must not fall")
    if lengths is not None:
        counts = places_of(plain_part(lengths), total)
        if len(counts) != len(starts) - 1 or any([a + n > total for a, n in zip(starts, counts, strict=False)]):
            raise UnpicklingError("the parts of a jagged tensor must lie within its values")
    made = public("nested").nested_tensor_from_jagged(values.detach(), offsets, lengths, axis)
    return made.detach().requires_grad_(given.get("requires_grad") is True)


def places_of(t: Any, total: int) -> list[int]:
    """The numbers of a tensor of offsets or lengths, each from 0 to `total`."""
    if type(t) is not Tensor or t.ndim != 1 or t.dtype not in (dtypes.int64, dtypes.int32) or not t.numel():
        raise UnpicklingError("the offsets and lengths of a jagged tensor must be int64 or int32, with one dimension")
    numbers = t.tolist()
    if not all([0 <= n <= total for n in numbers]):
        raise UnpicklingError("the parts of a jagged tensor must lie within its values")
    return numbers


def rebuild_nested(buffer: Any, sizes: Any, strides: Any, offsets: Any) -> Any:
    """A nested tensor of the strided layout, whose parts are copied out of a buffer."""
    buffer, sizes, strides, offsets = map(plain_part, (buffer, sizes, strides, offsets))
    parts = [t for t in (buffer, sizes, strides, offsets) if type(t) is Tensor]
    if len(parts) != 4 or any([t.dtype is not dtypes.int64 for t in parts[1:]]) or buffer.ndim != 1 or sizes.ndim != 2:
        raise UnpicklingError("a nested tensor needs a buffer, and sizes, strides and offsets that are int64")
    if tuple(strides.shape) != tuple(sizes.shape) or tuple(offsets.shape) != (sizes.shape[0],):
        raise UnpicklingError("a nested tensor needs sizes, strides and an offset for every part")
    made = []
    for size, stride, start in zip(sizes.tolist(), strides.tolist(), offsets.tolist(), strict=True):
        reach = start + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)])
        if min([start, *size, *stride]) < 0 or 0 not in size and reach >= buffer.numel():
            raise UnpicklingError("the parts of a nested tensor must lie within its buffer")
        made.append(buffer.as_strided(size, stride, start) if 0 not in size else buffer.new_empty(size))
    return public("nested").nested_tensor(made, dtype=buffer.dtype)


def plain_part(value: Any) -> Any:
    """A tensor inside a sparse one, or its size."""
    if type(value) in (tuple, list, Size):
        return plain_sizes(value)
    if type(value) is not Tensor or value._flags & ~(FLAG_CONJ | FLAG_NEG):
        raise UnpicklingError("the parts of a sparse tensor must be dense tensors")
    return value


def rebuild_from_type(function: Any, cls: Any, args: Any, state: Any, trusted: bool = True) -> Any:
    """A tensor of some class, with attributes; `function` and `cls` are the caller's to check unless the file is trusted."""
    t = function(*args) if trusted and function is rebuild_wrapper_subclass else plain_tensor(function(*args))
    if type(t) is not cls:
        t = subclass.instance(cls, t)
    if trusted and "__setstate__" in vars_of(cls):
        t.__setstate__(state)
    elif trusted:
        set_state(t, state)
    else:
        set_attributes(t, state)
    return t


def vars_of(cls: type) -> set[str]:
    """The names that a tensor's class defines below Tensor."""
    return {name for kind in cls.__mro__ if kind is not Tensor and issubclass(kind, Tensor) for name in kind.__dict__}


def set_state(obj: Any, state: Any) -> None:
    """What unpickling does to an object without `__setstate__`."""
    slots = None
    if type(state) is tuple and len(state) == 2:
        state, slots = state
    if state:
        obj.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)


def set_attributes(obj: Any, state: Any) -> None:
    """Set the attributes that a file gives to a tensor or an OrderedDict: data, under names that the class does not use."""
    if type(state) not in (dict, OrderedDict):
        raise UnpicklingError(f"the attributes of a {type(obj).__name__} must be a dict, not {type(state).__name__}")
    taken = [kind.__dict__ for kind in type(obj).__mro__]
    for name in state:
        if type(name) is not str or name[:2] == "__" or any([name in names for names in taken]):
            raise UnpicklingError(f"a file may not set the attribute {shown(name)} of a {type(obj).__name__}")
    obj.__dict__.update(state)


# ---- generators
def new_generator(where: Any = None) -> Any:
    """A random generator, whose state is set next."""
    if where is not None and (type(where) is not device or where.type != "cpu"):
        raise UnpicklingError("a generator of another device than the cpu cannot be loaded")
    return public("Generator")()


def set_generator(generator: Any, state: Any) -> None:
    """The state of a generator: its seed, its offset (None on the cpu), and all of it as bytes."""
    if type(state) is not tuple or len(state) != 3 or type(state[2]) is not Tensor or state[2].dtype is not dtypes.uint8:
        raise UnpicklingError("the state of a generator must be a seed, an offset and a tensor of bytes")
    if state[2].array.size != GENERATOR_BYTES:                  # before it is copied: it may repeat one byte without end
        raise UnpicklingError(f"the state of a generator must have {GENERATOR_BYTES} bytes, not {state[2].array.size}")
    try:
        PlainGenerator.set_state(generator, np.ascontiguousarray(state[2].array))
    except (RuntimeError, TypeError, ValueError) as error:
        raise UnpicklingError(f"the state of a generator is damaged: {error}") from error
