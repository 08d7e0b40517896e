"""New tensors from a size and a value: zeros, full, arange, linspace, eye, their `_like` and `new_` forms, windows."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from retrograd.core import dtypes, fast_kernels, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.api import EXTRA_FUNCTIONS, EXTRA_METHODS, entry_of, overridden, wanted_by_another
from retrograd.core.arguments import resolve
from retrograd.core.device import names_cpu
from retrograd.core.dispatch import call
from retrograd.core.dtypes import is_inexact_type
from retrograd.core.hooks import hooks
from retrograd.core.kernels import HALVES
from retrograd.core.opdef import OpDef, defop
from retrograd.core.rng.fused import fma_float32, fma_float64, sum_float32
from retrograd.core.schema import Schema
from retrograd.core.state import grad_enabled, inference, slow_path, switches
from retrograd.core.tensor import (
    FLAG_INFERENCE,
    FLAG_WRITABLE,
    FUNCTIONS_BY_NAME,
    Tensor,
    counter_of,
    new_tensor,
    wants_grad,
)
from retrograd.core.views import INFERENCE_WRITE
from retrograd.ops import late
from retrograd.ops.memory.copy import channels_last_strides, format_strides, meta_array, strided
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import overflow, unsupported

OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
PUBLIC_OPTIONS = ("ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, "
                  "bool? requires_grad=False")
NEEDS_FLOAT = "Only Tensors of floating point and complex dtype can require gradients"
NO_PINNED = ("pin_memory=True requires a CUDA or other accelerator backend; no pinned memory allocator is available on this "
             "system.")


# ---- from public calls to ops
def public(name: str, forms: Any, *, fast: Any = None, method: bool = False, plain: bool = True, out: bool = True) -> Any:
    """Make `name` callable: `forms` lists (op, its own parameters as schema text), in the order they are tried. Options
    that are not arguments of the op (requires_grad, out) are handled here. `fast(args, dtype)` returns the array of the
    most common calls, or None.
    """
    schemas: list[Schema] = []
    orders: list[Any] = []
    for _, params in forms:
        star = "" if "*" in params else " *,"
        schemas.append(Schema(f"{name}({params},{star} {'Tensor? out=None, ' if out else ''}{PUBLIC_OPTIONS}) -> Tensor"))
        orders.append(None)

    def order_of(index: int) -> Any:
        order = orders[index]
        if order is None:
            order = orders[index] = argument_order(forms[index][0], schemas[index])
        return order

    def function(*args: Any, **kwargs: Any) -> Any:
        if fast is not None and (not switches.any_mode or not slow_path()):
            if not kwargs:
                array = fast(args, None)
                if array is not None:
                    return new_tensor(array)
            else:
                array = quick(fast, args, kwargs)
                if array is not None:
                    made = new_tensor(array)
                    made._requires = kwargs.get("requires_grad", False)
                    return made
        return bind(*args, **kwargs)

    def by_schema(*args: Any, **kwargs: Any) -> Any:
        if overridden(args, kwargs):
            return hooks.torch_function(function, args, kwargs)
        try:
            index, bound = resolve(name, schemas, args, kwargs, method)
        except TypeError:
            if wanted_by_another(args, kwargs):
                return hooks.torch_function(function, args, kwargs)
            raise
        return make(forms[index][0], order_of(index), bound)
    targets = [lambda bound, i=i: make(forms[i][0], order_of(i), bound) for i in range(len(forms))]
    bind = entry_of(name, schemas, targets, by_schema, method)
    if fast is None:
        function = bind
    function.__name__ = function.__qualname__ = name
    function.__module__ = "torch"
    FUNCTIONS_BY_NAME[name] = function
    if plain:
        EXTRA_FUNCTIONS[name] = function
    if method:
        EXTRA_METHODS[name] = function
    return function


def quick(fast: Any, args: Any, kwargs: Any) -> Any:
    """The array of a call whose keywords are dtype, requires_grad, and the device `cpu` and layout `strided` of ordinary
    tensors; None if it is not that simple."""
    dtype = requires = None
    for key, value in kwargs.items():
        if key == "dtype":
            dtype = value
        elif key == "requires_grad":
            requires = value
        elif not (key == "device" and names_cpu(value) or key == "layout" and value is strided
                  or key == "pin_memory" and value is False):
            return None
    if dtype is not None and type(dtype) is not dtypes.dtype or requires is not None and type(requires) is not bool:
        return None
    array = fast(args, dtype)
    return None if requires and array is not None and not is_inexact_type(array.dtype) else array


def argument_order(op: Any, schema: Schema) -> Any:
    """The positions of the op's arguments, then of `out` and `requires_grad`, among the public arguments."""
    index = {p.name: i for i, p in enumerate(schema.params)}
    return [index[p.name] for p in op.schema.params], index.get("out"), index["requires_grad"], index["dtype"]


def make(op: OpDef, order: Any, bound: Any) -> Any:
    """Run a factory op for a public call."""
    places, out_place, requires_place, dtype_place = order
    args = [bound[i] for i in places]
    out = None if out_place is None else bound[out_place]
    if bound[dtype_place + 3]:
        raise RuntimeError(NO_PINNED)
    if out is not None:
        made = fill_out(op, args, out, bound[dtype_place])
        if made._node is None:
            made._requires = False               # the default of a factory call
    else:
        device = bound[dtype_place + 2]
        if device is not None and op._ready and not op.tensor_args and names_cpu(device) and not (
                switches.any_mode and slow_path()):
            args[op.device_arg] = None             # the default
        made = call(op, args)
    if bound[requires_place]:
        require_grad(made)
    return made


SEQUENCES = ("arange", "linspace", "logspace", "range")


def fill_out(op: Any, args: Any, out: Any, dtype: Any) -> Any:
    """The out= form: run the op in the dtype of `out`, and copy the result there."""
    recorded = grad_enabled() and wants_grad(out)
    if recorded and op.name == "empty":
        raise RuntimeError("cannot resize variables that require grad")
    if recorded and (out.is_leaf or out._base is not None and out._base.is_leaf):
        raise RuntimeError(f"aten::{op.name}(): functions with out=... arguments don't support automatic differentiation, but "
                           "one of the arguments requires grad.")
    if dtype is not None and dtype is not out.dtype:
        raise RuntimeError(f"dtype {dtype.legacy} does not match dtype of out parameter ({out.dtype.legacy})")
    if out._flags & FLAG_INFERENCE and not out._flags & FLAG_WRITABLE and not inference():
        raise RuntimeError(INFERENCE_WRITE)
    if not op._ready:
        op.prepare()
    args = list(args)
    if op.name == "range" and not (out.dtype.is_floating_point or out.dtype.category == 1):
        raise NotImplementedError(f'"range_cpu" not implemented for \'{out.dtype.legacy}\'')
    for i in op.dtype_args:
        args[i] = out.dtype
    made = call(op, args)
    if op.name in SEQUENCES and out.array.size == made.array.size:       # keep the shape of `out`
        made = late.view(made, out.array.shape)
    if recorded:
        hooks.record_out(out, made, "cast", "out")
        return out
    if out.array.shape != made.array.shape:
        if op.name == "arange" and out.array.size not in (0, made.array.size):
            warnings.warn(f"The number of elements in the out tensor of shape {list(out.array.shape)} is {out.array.size} "
                          f"which does not match the computed number of elements {made.array.size}. Note that this may "
                          "occur as a result of rounding error. The out tensor will be resized to a tensor of shape "
                          f"({made.array.size},).", UserWarning, stacklevel=4)
        late.resize_(out, made.array.shape)
        counter_of(out).n -= op.name != "empty"         # only the write itself is counted
    if op.name == "empty":
        return out
    hooks.assign_out(out, made, op.name)
    return out


def require_grad(t: Any) -> None:
    if not is_inexact_type(t.array.dtype):
        raise RuntimeError(NEEDS_FLOAT)
    t._requires = True


# ---- kernels
def default() -> Any:
    return dtypes.get_default_dtype().numpy


def check_size(size: Any) -> Any:
    for n in size:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(size)}")


def plain_size(args: Any) -> Any:
    """The size in a call such as zeros(2, 3) or zeros((2, 3)); None for arguments that need full binding."""
    if len(args) == 1:
        kind = type(args[0])
        if kind is not int:
            if kind is not tuple and kind is not list:
                if not isinstance(args[0], tuple):
                    return None
            args = args[0]
    elif not args:
        return None
    for n in args:
        if type(n) is not int or n < 0:
            return None
    return args


def fast_zeros(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    return None if size is None else np.zeros(size, default() if dtype is None else dtype.numpy)


def fast_ones(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    if size is None:
        return None
    array = np.empty(size, default() if dtype is None else dtype.numpy)
    array.fill(1)
    return array


def fast_empty(args: Any, dtype: Any) -> Any:
    size = plain_size(args)
    return None if size is None else np.empty(size, default() if dtype is None else dtype.numpy)


def zeros_kernel(xp: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    if any([n < 0 for n in size]):
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return xp.zeros(size, dtype or default())


def ones_kernel(xp: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_size(size)
    return lean.ones(size, dtype or default())


def empty_kernel(xp: Any, size: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
    check_size(size)
    dtype = dtype or default()
    if memory_format is None or memory_format.name == "contiguous_format":
        return xp.empty(size, dtype)
    if memory_format.name == "preserve_format":
        raise RuntimeError("unsupported memory format Preserve\nThere is no tensor whose format could be kept.")
    rank = 4 if memory_format.name == "channels_last" else 5
    if len(size) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {memory_format.name} format\nThe size is {list(size)}.")
    return storage.empty_strided(size, channels_last_strides(size), dtype)


def full_kernel(xp: Any, size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_size(size)
    return filled(xp.empty(size, dtype or number_dtype(fill_value)), fill_value)


def number_dtype(value: Any) -> Any:
    return dtypes.number_dtype(value).numpy


def filled(array: Any, value: Any) -> Any:
    if fast_kernels.native is not None and fast_kernels.native.fill(array, value) is not None:
        return array
    array[...] = as_element(value, array.dtype)
    return array


def as_element(value: Any, dtype: Any) -> Any:
    """A Python number as an element of `dtype`, if the dtype can hold it."""
    kind = dtype.kind
    if kind == "f" and type(value) is float and -60000 < value < 60000 and dtype not in HALVES:
        return value
    if kind == "b":
        return bool(value)
    if kind == "W":                   # which rounds to infinity, as PyTorch's does
        return np.complex64(value).astype(dtype)
    if (type(value) is complex and kind != "c" and value.imag != 0) or not holds(value, dtype):
        raise overflow(dtype)
    if type(value) is complex and kind != "c":
        value = value.real
    if kind in "iu":
        value = int(value)
        if -128 < value < 128 and kind == "i":
            return value
        return np.asarray(value & (1 << 8 * dtype.itemsize) - 1, np.uint64).astype(dtype)
    if dtype in HALVES:
        return np.float32(value).astype(dtype)
    return value


def holds(value: Any, dtype: Any) -> bool:
    """Whether a number fits a dtype: unsigned types accept negative numbers modulo their range."""
    kind = dtype.kind
    if (type(value) is int or type(value) is float) and -127 <= value <= 127:
        return True
    if type(value) is complex:
        part = np.dtype(f"f{dtype.itemsize // 2}") if kind == "c" else dtype
        return holds(value.real, part) and holds(value.imag, part)
    if type(value) is float and (math.isinf(value) or math.isnan(value)):
        return kind not in "iu"
    if kind in "iu":
        info = np.iinfo(dtype)
        low = -int(info.max) if kind == "u" else int(info.min)
        return low <= value <= int(info.max)
    part = np.dtype(f"f{dtype.itemsize // 2}") if kind == "c" else dtype
    limit = dtypes.finfo(dtypes.BY_NUMPY[part]).max
    return -limit <= value <= limit


def empty_strided_kernel(xp: Any, size: Any, stride: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    check_strides(size, stride)
    return storage.empty_strided(size, stride, dtype or default())


def check_strides(size: Any, stride: Any) -> Any:
    if len(size) != len(stride):
        raise RuntimeError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    check_size(size)
    if stride and min(stride) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")


def arange_kernel(xp: Any, start: Any, end: Any, step: Any, dtype: Any) -> Any:
    if type(start) is type(end) is type(step) is int and dtype is None and (0 < step and start <= end):
        return xp.arange(start, end, step)
    numbers = [float(x.real if isinstance(x, complex) else x) for x in (start, end, step)]
    if any([isinstance(x, complex) for x in (start, end, step)]):
        raise RuntimeError("value cannot be converted to type double without overflow")
    if dtype is None:
        whole = all([isinstance(x, int) for x in (start, end, step)])
        dtype = np.dtype(np.int64) if whole else default()
    if dtype.kind in "bcW":
        raise NotImplementedError(f'"arange_cpu" not implemented for \'{dtypes.BY_NUMPY[dtype].legacy}\'')
    first, last, by = numbers
    if by == 0 or by != by:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(first) and math.isfinite(last)):
        raise RuntimeError(f"unsupported range: {first:g} -> {last:g}")
    if (by > 0 and last < first) or (by < 0 and last > first):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if (last - first) / by >= 2.0 ** 63:
        raise RuntimeError("invalid size, possible overflow?")
    if dtype.kind in "iu":
        first, last, by = int(start), int(end), int(step)
        if by == 0 and dtype.itemsize == 8:
            raise ValueError("step must be nonzero")
    if dtype.kind in "iu":
        if dtype.itemsize == 8:
            count = -((first - last) // by) if by > 0 else -((last - first) // -by)
        else:
            count = math.ceil((numbers[1] - numbers[0]) / numbers[2])
        return (first + by * xp.arange(count, dtype=np.int64)).astype(dtype)
    return stepped(xp, first, by, math.ceil((last - first) / by), dtype)


def stepped(xp: Any, first: float, by: float, count: int, dtype: Any) -> Any:
    """first + i * by, computed like the reference, bit by bit: in runs of lanes that start at a rounded value."""
    if native is not None and dtype.char in "fd":
        made = xp.empty(count, dtype)
        if native.stepped(made, first, by):
            return made
    lanes = 16 if dtype in HALVES else 8 if dtype.itemsize == 4 else 4
    wide = np.dtype(np.float32) if dtype in HALVES else np.dtype(np.float64)
    first, by = float(wide.type(first)), float(wide.type(by))
    fused = fma_float32 if dtype in HALVES else fma_float64
    values = fused(xp.arange(count).astype(wide), by, first).astype(dtype)
    whole = count // (2 * lanes) * (2 * lanes)
    if whole:
        runs = values[:whole].reshape(-1, lanes)
        exact = np.float64 if dtype in HALVES else np.longdouble
        offsets = xp.arange(lanes).astype(exact) * exact(by)
        runs[...] = (runs[:, :1].astype(exact) + offsets).astype(wide).astype(dtype)
    return values


def fast_arange(args: Any, dtype: Any) -> Any:
    if len(args) == 1 and type(args[0]) is int and args[0] >= 0 and dtype is None:
        return np.arange(args[0])
    return None


def linspace_values(xp: Any, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """Evenly spaced values, counted from the nearer end so that both ends are exact."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None:
        dtype = default() if not isinstance(start, complex) and not isinstance(end, complex) else (
            dtypes.get_default_complex_dtype().numpy)
    if steps == 0:
        return xp.empty(0, dtype)
    first, last = as_element(start, dtype), as_element(end, dtype)
    if steps == 1:
        return filled(xp.empty(1, dtype), start)
    if native is not None and dtype.char in "fdl":
        made = xp.empty(steps, dtype)
        if native.linspace(made, float(first), float(last)):
            return made
    if dtype.kind == "W":
        raise NotImplementedError("\"linspace_cpu\" not implemented for 'ComplexHalf'")
    half = steps // 2
    up, down = xp.arange(half), xp.arange(steps - 1 - half, -1, -1)
    if dtype.kind == "c":
        step = (dtype.type(last) - dtype.type(first)) / dtype.type(steps - 1)
        return xp.concatenate([dtype.type(first) + step * up, dtype.type(last) - step * down]).astype(dtype)
    if dtype.kind in "iu" or dtype == np.float64:
        low, high = float(first), float(last)
        step = (high - low) / (steps - 1)
        up, down = up.astype(np.float64), down.astype(np.float64)
        return xp.concatenate([fma_float64(up, step, low), fma_float64(down, -step, high)]).astype(dtype)
    low, high = dtype.type(first), dtype.type(last)
    step = (high - low) / dtype.type(steps - 1)
    if dtype in HALVES:               # every operation rounds
        return xp.concatenate([low + step * up.astype(dtype), high - step * down.astype(dtype)])
    return xp.asarray(fused_float32(half, steps, float(step), float(low), float(high)))


def fused_float32(half: int, steps: int, step: float, low: float, high: float) -> Any:
    """low + i * step for the first half of the places, high - (steps - 1 - i) * step for the others, each rounded once."""
    product = np.arange(steps, dtype=np.float64)
    rest = product[half:]
    np.subtract(steps - 1, rest, rest)
    product *= step
    np.negative(rest, rest)
    ends = np.empty(steps)
    ends[:half], ends[half:] = low, high
    return sum_float32(product, ends)


NUMBERS = frozenset((int, float, complex, bool))
REALS = frozenset((int, float))


def bound_numbers(op: str, start: Any, end: Any) -> Any:
    """Bounds, which may be 0-d arrays, as Python numbers."""
    if type(start) in NUMBERS and type(end) in NUMBERS:
        return start, end
    if isinstance(start, np.ndarray) and isinstance(end, np.ndarray) and not start.ndim and not end.ndim and (
            start.dtype.kind != "V" and end.dtype.kind != "V"):
        return start.item(), end.item()
    bounds = {"start": start, "end": end}
    arrays = {name: value for name, value in bounds.items() if isinstance(value, np.ndarray)}
    if any([a.ndim for a in arrays.values()]):
        got = " and ".join([f"{name} with {a.ndim} dimension(s)" for name, a in arrays.items()])
        raise RuntimeError(f"{op} only supports 0-dimensional start and end tensors, but got {got}.")
    return [(float(v) if v.dtype.kind == "V" else v.item()) if isinstance(v, np.ndarray) else v for v in bounds.values()]


def linspace_kernel(xp: Any, start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    if dtype == np.bool_ and steps > 1:
        raise unsupported("linspace_cpu", dtype)
    start, end = bound_numbers("linspace", start, end)
    return linspace_values(xp, start, end, steps, dtype)


def logspace_kernel(xp: Any, start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any,
                    pin_memory: Any) -> Any:
    if dtype == np.bool_ and steps > 1:
        raise unsupported("logspace_cpu", dtype)
    start, end = bound_numbers("logspace", start, end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None:
        dtype = default() if not isinstance(start, complex) and not isinstance(end, complex) else (
            dtypes.get_default_complex_dtype().numpy)
    if dtype.kind in "iu":
        if steps == 1:
            return xp.asarray([base ** start]).astype(dtype)
        step = np.float32(float(int(end) - int(start)) / max(steps - 1, 1))
        index = xp.arange(steps)
        half = steps // 2
        powers = xp.concatenate([int(start) + step * index[:half], int(end) - step * (steps - 1 - index[half:])])
        return (np.float64(base) ** powers.astype(np.float64)).astype(dtype)
    if native is not None and dtype.char == "f" and 1 < steps < 4096 and type(start) in REALS and type(end) in REALS:
        made = xp.empty(steps, dtype)
        first, last = as_element(start, dtype), as_element(end, dtype)
        if native.linspace(made, float(first), float(last), float(np.float32(base))):
            return made
    values = linspace_values(xp, start, end, steps, dtype)
    if dtype in HALVES:
        return (np.float32(base) ** values.astype(np.float32)).astype(dtype)
    if dtype == np.float32:
        return xp.power(float(np.float32(base)), values.astype(np.float64)).astype(dtype)
    return (dtype.type(base) ** values).astype(dtype)


def linspace_meta(xp: Any, start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    """The values of bounds given as tensors are not needed, only whether they are complex."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    complexes = [v.dtype.kind == "c" if isinstance(v, np.ndarray) else isinstance(v, complex) for v in (start, end)]
    made = dtypes.get_default_complex_dtype().numpy if any(complexes) else default()
    return meta_array((steps,), (1,), dtype or made)


def logspace_meta(xp: Any, start: Any, end: Any, steps: int, base: float, *options: Any) -> Any:
    return linspace_meta(xp, start, end, steps, *options)


def eye_kernel(xp: Any, n: int, m: int, dtype: Any) -> Any:
    if dtype is not None and dtype.kind == "W":
        raise NotImplementedError("\"eye\" not implemented for 'ComplexHalf'")
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    made = xp.zeros((n, m), dtype or default())
    if made.size:
        made.reshape(-1)[:min(n, m) * (m + 1):m + 1] = 1
    return made


# ---- the `_like` forms
def like_array(self: Any, dtype: Any, memory_format: Any, made: Any) -> Any:
    """An array with the geometry of `self`; `made(shape, dtype)` creates it where the layout is contiguous."""
    dtype = dtype or self.dtype
    if memory_format is None and self.size and 0 not in self.strides:
        if self.flags.c_contiguous:
            return made(self.shape, dtype)
        array = permuted_like(self, made) if dtype is self.dtype else None
        if array is not None:
            return array
    strides = format_strides(self, memory_format)
    if strides == storage.contiguous_strides(self.shape):
        return made(self.shape, dtype)
    array = storage.empty_strided(self.shape, strides, dtype)
    if made is not np.empty:
        array[...] = made((), dtype)
    return array


def fast_like(made: Any) -> Any:
    def fast(args: Any, dtype: Any) -> Any:
        if len(args) != 1 or type(args[0]) is not Tensor or args[0]._flags:
            return None
        array = args[0].array
        if not array.size or 0 in array.strides:
            return None
        if array.flags.c_contiguous:
            return made(array.shape, array.dtype if dtype is None else dtype.numpy)
        return None if dtype is not None else permuted_like(array, made)
    return fast


def permuted_like(array: Any, made: Any) -> Any:
    """A new array with the geometry of a dense, permuted one; None for others."""
    found = np.empty_like(array)
    if found.strides != array.strides:
        return None
    if made is not np.empty:
        put_number(found, 0 if made is np.zeros else 1)
    return found


def fast_full_like(args: Any, dtype: Any) -> Any:
    if len(args) != 2 or not is_small_number(args[1]):
        return None
    array = fast_empty_like(args[:1], dtype)
    return None if array is None else simply_filled(array, args[1])


def is_small_number(value: Any) -> bool:
    """Whether every 64- and 32-bit dtype can hold this number, rounded or truncated as NumPy does."""
    kind = type(value)
    return (kind is float or kind is int) and -60000 < value < 60000


def simply_filled(array: Any, value: Any) -> Any:
    """The array filled with a small number; None for dtypes that need the general conversion."""
    if fast_kernels.native is not None and fast_kernels.native.fill(array, value) is not None:
        return array
    if array.dtype.char not in ("fd" if type(value) is float else "fdl"):
        return None
    array.fill(value)
    return array


def fast_full(args: Any, dtype: Any) -> Any:
    if len(args) != 2 or not is_small_number(args[1]) or type(args[0]) is int:
        return None
    size = plain_size(args[:1])
    if size is None:
        return None
    wanted = dtype.numpy if dtype is not None else default() if type(args[1]) is float else LONG
    return simply_filled(np.empty(size, wanted), args[1])


def fast_scalar_tensor(args: Any, dtype: Any) -> Any:
    if len(args) != 1 or not is_small_number(args[0]):
        return None
    return simply_filled(np.empty((), default() if dtype is None else dtype.numpy), args[0])


def fast_eye(args: Any, dtype: Any) -> Any:
    count = len(args)
    if count == 0 or count > 2 or type(args[0]) is not int or type(args[-1]) is not int or args[0] <= 0 or args[-1] <= 0:
        return None
    columns = args[-1]
    made = np.zeros((args[0], columns), default() if dtype is None else dtype.numpy)
    made.ravel()[:min(args[0], columns) * (columns + 1):columns + 1] = 1
    return made


def fast_linspace(args: Any, dtype: Any) -> Any:
    if len(args) != 3 or type(args[2]) is not int or not 1 < args[2] < 4096 or native is None or not (
            is_small_number(args[0]) and is_small_number(args[1])):
        return None
    made = np.empty(args[2], default() if dtype is None else dtype.numpy)
    return made if native.linspace(made, args[0], args[1]) else None


def fast_logspace(args: Any, dtype: Any) -> Any:
    if len(args) != 3 or type(args[2]) is not int or not 1 < args[2] < 4096 or native is None or not (
            is_small_number(args[0]) and is_small_number(args[1])):
        return None
    made = np.empty(args[2], default() if dtype is None else dtype.numpy)
    return made if made.dtype.char == "f" and native.linspace(made, args[0], args[1], 10.0) else None


def fast_empty_strided(args: Any, dtype: Any) -> Any:
    """`empty_strided` for dense row- or column-major strides."""
    if len(args) != 2 or type(args[0]) is int or type(args[1]) is int:
        return None
    size, stride = plain_size(args[:1]), plain_size(args[1:])
    if size is None or stride is None or len(size) != len(stride) or 0 in size:
        return None
    for order in ("C", "F"):
        made = np.empty(size, default() if dtype is None else dtype.numpy, order)
        if storage.strides_of(made) == tuple(stride):
            return made
    return None


def like_kernel(made: Any) -> Any:
    def kernel(xp: Any, self: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Any:
        return like_array(self, dtype, memory_format, made)
    return kernel


def ones_array(shape: Any, dtype: Any) -> Any:
    array = np.empty(shape, dtype)
    put_number(array, 1)
    return array


def put_number(array: Any, value: int) -> None:
    if fast_kernels.native is None or fast_kernels.native.fill(array, value) is None:
        array.fill(value)


fast_empty_like = fast_like(np.empty)
LONG = np.dtype(np.int64)


def full_like_kernel(xp: Any, self: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any,
                     memory_format: Any) -> Any:
    if dtype is None and memory_format is None and self.size and self.flags.c_contiguous and 0 not in self.strides:
        return filled(xp.empty(self.shape, self.dtype), fill_value)
    return filled(like_array(self, dtype, memory_format, np.empty), fill_value)


def like_meta(xp: Any, self: Any, *rest: Any) -> Any:
    dtype, memory_format = rest[-5], rest[-1]
    return meta_array(self.shape, format_strides(self, memory_format), dtype or self.dtype)


def sized_meta(xp: Any, size: Any, *rest: Any) -> Any:
    check_size(size)
    return meta_array(size, storage.contiguous_strides(size), rest[-4] or default())


def new_meta(xp: Any, self: Any, size: Any, *rest: Any) -> Any:
    check_size(size)
    return meta_array(size, storage.contiguous_strides(size), rest[-4] or self.dtype)


def batched_new(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule of the `new_` forms: the batch dimension comes first."""
    return call(op, [families.move_to_front(args[0], dims[0]), (size, *args[1]), *args[2:]]), 0


# ---- the table
zeros = defop(f"zeros(SymInt[] size, *, {OPTIONS}) -> Tensor", kernel=zeros_kernel, meta=sized_meta, variants="",
              steps=("zero_.default",),
    doc="""A tensor of zeros.
    >>> torch.zeros(2)
    tensor([0., 0.])
    """)
ones = defop(f"ones(SymInt[] size, *, {OPTIONS}) -> Tensor", kernel=ones_kernel, meta=sized_meta, variants="",
             steps=("fill_.Scalar", 1.0),
    doc="""A tensor of ones.
    >>> torch.ones(2, 2)
    tensor([[1., 1.],
            [1., 1.]])
    """)
empty = defop(
    f"empty.memory_format(SymInt[] size, *, {OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    kernel=empty_kernel,
    meta=lambda xp, size, dtype, layout, device, pin_memory, memory_format: sized_meta(
        xp, size, dtype, layout, device, pin_memory),
    variants="",
    out_form="out",
    doc="""A tensor with whatever is in memory.
    >>> torch.empty(2, 3).shape
    torch.Size([2, 3])
    """,
)
full = defop(
    f"full(SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=full_kernel,
    meta=lambda xp, size, fill_value, dtype, layout, device, pin_memory: sized_meta(
        xp, size, dtype or number_dtype(fill_value), layout, device, pin_memory),
    variants="",
    doc="""A tensor of one value.
    >>> torch.full((2,), 7.0)
    tensor([7., 7.])
    """,
)
empty_strided = defop(
    f"empty_strided(SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    kernel=empty_strided_kernel,
    meta=lambda xp, size, stride, dtype, layout, device, pin_memory: (
        check_strides(size, stride), meta_array(size, stride, dtype or default()))[1],
    variants="",
)
def strides_by_layout(size: Any, layout: Any) -> tuple[int, ...]:
    """The strides of dense memory in which the dimensions lie in the given order, the outermost first."""
    if len(size) != len(layout):
        raise RuntimeError("Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
                           f"{len(size)} is not equal to len(physical_layout) = {len(layout)}")
    strides, step = [0] * len(size), 1
    for i in range(len(size) - 1, -1, -1):
        d = layout[i]
        if not 0 <= d < len(size):
            raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index "
                               f"{i}).  NB: negative dims not currently supported; file an issue if you want it.")
        if d in layout[i + 1:]:
            raise RuntimeError("Duplicate dim not allowed")
        strides[d] = step
        step *= max(size[d], 1)
    return tuple(strides)


empty_permuted = defop(
    f"empty_permuted(SymInt[] size, int[] physical_layout, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, size, physical_layout, dtype, layout, device, pin_memory: storage.empty_strided(
        size, strides_by_layout(size, physical_layout), dtype or default()),
    meta=lambda xp, size, physical_layout, dtype, layout, device, pin_memory: meta_array(
        size, strides_by_layout(size, physical_layout), dtype or default()),
    variants="",
)
arange = defop(
    f"arange(Scalar end, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, end, dtype, layout, device, pin_memory: arange_kernel(xp, 0, end, 1, dtype), variants="",
    doc="""Evenly spaced numbers from `start` up to, and without, `end`.
    >>> torch.arange(1, 7, 2)
    tensor([1, 3, 5])
    """,
)
arange_start = defop(
    f"arange.start(Scalar start, Scalar end, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, start, end, dtype, layout, device, pin_memory: arange_kernel(xp, start, end, 1, dtype), variants="",
)
arange_step = defop(
    f"arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, start, end, step, dtype, layout, device, pin_memory: arange_kernel(xp, start, end, step, dtype),
    variants="",
    out_form="start_out",
)
# `range` includes its end; deprecated in PyTorch.
range_step = defop(
    f"range.step(Scalar start, Scalar end, Scalar step=1, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, start, end, step, dtype, layout, device, pin_memory: range_kernel(xp, start, end, step, dtype),
    variants="",
    out_form="out",
)


def range_kernel(xp: Any, start: Any, end: Any, step: Any, dtype: Any) -> Any:
    dtype = dtype or default()
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (step > 0 and end < start) or (step < 0 and end > start):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    count = int((end - start) / step + 1)
    return (start + step * xp.arange(count, dtype=np.float64)).astype(dtype)


linspace_forms: list[Any] = []
logspace_forms: list[Any] = []
for kind, first, last in (("Tensor_Tensor", "Tensor", "Tensor"), ("Tensor_Scalar", "Tensor", "Scalar"),
                          ("Scalar_Tensor", "Scalar", "Tensor"), ("", "Scalar", "Scalar")):
    bounds = f"{first} start, {last} end, int steps"
    dotted = f".{kind}" if kind else ""
    linspace_forms.append((defop(f"linspace{dotted}({bounds}, *, {OPTIONS}) -> Tensor", kernel=linspace_kernel,
                                 meta=linspace_meta, batch=families.loop, variants=""), bounds))
    bounds += ", float base=10.0"
    logspace_forms.append((defop(f"logspace{dotted}({bounds}, *, {OPTIONS}) -> Tensor", kernel=logspace_kernel,
                                 meta=logspace_meta, batch=families.loop, variants=""), bounds))
eye = defop(
    f"eye(SymInt n, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, n, dtype, layout, device, pin_memory: eye_kernel(xp, n, n, dtype), variants="",
    doc="""A matrix with ones on the diagonal.
    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """,
)
eye_m = defop(
    f"eye.m(SymInt n, SymInt m, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, n, m, dtype, layout, device, pin_memory: eye_kernel(xp, n, m, dtype), variants="",
)
scalar_tensor = defop(
    f"scalar_tensor(Scalar s, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, s, dtype, layout, device, pin_memory: filled(xp.empty((), dtype or default()), s), variants="",
)
LIKE = f"{OPTIONS}, MemoryFormat? memory_format=None"
zeros_like = defop(f"zeros_like(Tensor self, *, {LIKE}) -> Tensor", kernel=like_kernel(np.zeros), meta=like_meta,
                   batch=families.pointwise, variants="", traits=("as_is",), masked="same mask",
    doc="""A tensor of zeros, with the shape and dtype of another.
    >>> torch.zeros_like(torch.ones(2))
    tensor([0., 0.])
    """)
ones_like = defop(f"ones_like(Tensor self, *, {LIKE}) -> Tensor", kernel=like_kernel(ones_array), meta=like_meta,
                  batch=families.pointwise, variants="", traits=("as_is",), masked="same mask",
    doc="""A tensor of ones, with the shape and dtype of another.
    >>> torch.ones_like(torch.zeros(2))
    tensor([1., 1.])
    """)
empty_like = defop(f"empty_like(Tensor self, *, {LIKE}) -> Tensor", kernel=like_kernel(np.empty), meta=like_meta,
                   batch=families.pointwise, variants="", traits=("as_is",),
    doc="""A tensor with whatever is in memory, with the shape and dtype of another.
    >>> torch.empty_like(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """)
full_like = defop(f"full_like(Tensor self, Scalar fill_value, *, {LIKE}) -> Tensor", kernel=full_like_kernel,
                  meta=like_meta, batch=families.pointwise, variants="", traits=("as_is",),
    doc="""A tensor of one value, with the shape and dtype of another.
    >>> torch.full_like(torch.zeros(2), 7)
    tensor([7., 7.])
    """)
new_zeros = defop(
    f"new_zeros(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, self, size, dtype, layout, device, pin_memory: (check_size(size), xp.zeros(size, dtype or self.dtype))[1],
    meta=new_meta, batch=batched_new, variants="", traits=("as_is",),
)
new_ones = defop(
    f"new_ones(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, self, size, dtype, layout, device, pin_memory:
        (check_size(size), lean.ones(size, dtype or self.dtype))[1],
    meta=new_meta, batch=batched_new, variants="", traits=("as_is",),
)
new_empty = defop(
    f"new_empty(Tensor self, SymInt[] size, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, self, size, dtype, layout, device, pin_memory: (check_size(size), xp.empty(size, dtype or self.dtype))[1],
    meta=new_meta, batch=batched_new, variants="", traits=("as_is",),
)
new_full = defop(
    f"new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, self, size, fill_value, dtype, layout, device, pin_memory: (
        check_size(size), filled(xp.empty(size, dtype or self.dtype), fill_value))[1],
    meta=new_meta, batch=batched_new, variants="", traits=("as_is",),
)
new_empty_strided = defop(
    f"new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {OPTIONS}) -> Tensor",
    kernel=lambda xp, self, size, stride, dtype, layout, device, pin_memory: (
        check_strides(size, stride), storage.empty_strided(size, stride, dtype or self.dtype))[1],
    meta=lambda xp, self, size, stride, dtype, layout, device, pin_memory: meta_array(size, stride, dtype or self.dtype),
    batch=families.loop, variants="", traits=("as_is",), masked="same mask",
)

for public_name, public_forms, quickly in (
    ("zeros", [(zeros, "SymInt[] size")], fast_zeros),
    ("ones", [(ones, "SymInt[] size")], fast_ones),
    ("full", [(full, "SymInt[] size, Scalar fill_value")], fast_full),
    ("arange", [(arange, "Scalar end"), (arange_start, "Scalar start, Scalar end"),
                (arange_step, "Scalar start, Scalar end, Scalar step=1")], fast_arange),
    ("linspace", linspace_forms, fast_linspace),
    ("logspace", logspace_forms, fast_logspace),
    ("eye", [(eye, "SymInt n"), (eye_m, "SymInt n, SymInt m")], fast_eye),
):
    public(public_name, public_forms, fast=quickly)
old_range = public("range", [(range_step, "Scalar start, Scalar end, Scalar step=1")])


def warned_range(*args: Any, **kwargs: Any) -> Any:
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
                  "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
                  UserWarning, stacklevel=2)
    return old_range(*args, **kwargs)


FUNCTIONS_BY_NAME["range"] = EXTRA_FUNCTIONS["range"] = warned_range
public("empty", [(empty, "SymInt[] size, *, MemoryFormat? memory_format=None")], fast=fast_empty)
public("empty_strided", [(empty_strided, "SymInt[] size, SymInt[] stride")], fast=fast_empty_strided, out=False)
public("empty_permuted", [(empty_permuted, "SymInt[] size, int[] physical_layout")], out=False)
hooks.scalar_tensor = public("scalar_tensor", [(scalar_tensor, "Scalar s")], fast=fast_scalar_tensor, out=False)
for public_name, like_op, made in (("zeros_like", zeros_like, np.zeros), ("ones_like", ones_like, ones_array),
                                   ("empty_like", empty_like, np.empty)):
    public(public_name, [(like_op, "Tensor self, *, MemoryFormat? memory_format=None")], fast=fast_like(made), out=False)
public("full_like", [(full_like, "Tensor self, Scalar fill_value, *, MemoryFormat? memory_format=None")], fast=fast_full_like,
       out=False)
for new_op in (new_zeros, new_ones, new_empty):
    public(new_op.name, [(new_op, "Tensor self, SymInt[] size")], method=True, plain=False, out=False)
public("new_full", [(new_full, "Tensor self, SymInt[] size, Scalar fill_value")], method=True, plain=False, out=False)
public("new_empty_strided", [(new_empty_strided, "Tensor self, SymInt[] size, SymInt[] stride")], method=True, plain=False,
       out=False)
