"""Sequences of numbers: arange, range, linspace, logspace."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.algorithms import native
from retrograd.core.api import EXTRA_FUNCTIONS
from retrograd.core.kernels import HALVES
from retrograd.core.rng.fused import fma_float32, fma_float64, sum_float32
from retrograd.core.tensor import FUNCTIONS_BY_NAME
from retrograd.ops.create.elements import as_element, default, filled, is_small_number
from retrograd.ops.create.factory import factory
from retrograd.ops.memory.copy import meta_array
from retrograd.ops.shared import families
from retrograd.ops.shared.elementwise import unsupported

NUMBERS = frozenset((int, float, complex, bool))
REALS = frozenset((int, float))


# ---- steps of one length
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


factory(
    "arange",
    ("", "Scalar end", lambda xp, end, dtype: arange_kernel(xp, 0, end, 1, dtype)),
    ("start", "Scalar start, Scalar end", lambda xp, start, end, dtype: arange_kernel(xp, start, end, 1, dtype)),
    ("start_step", "Scalar start, Scalar end, Scalar step=1", arange_kernel, dict(out_form="start_out")),
    fast=fast_arange,
    doc="""Evenly spaced numbers from `start` up to, and without, `end`.
    >>> torch.arange(1, 7, 2)
    tensor([1, 3, 5])
    """,
)
factory("range", ("step", "Scalar start, Scalar end, Scalar step=1", range_kernel, dict(out_form="out")))
range_function = FUNCTIONS_BY_NAME["range"]


def warned_range(*args: Any, **kwargs: Any) -> Any:
    warnings.warn("torch.range is deprecated and will be removed in a future release because its behavior is inconsistent "
                  "with Python's range builtin. Instead, use torch.arange, which produces values in [start, end).",
                  UserWarning, stacklevel=2)
    return range_function(*args, **kwargs)


FUNCTIONS_BY_NAME["range"] = EXTRA_FUNCTIONS["range"] = warned_range


# ---- a number of steps
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


def linspace_kernel(xp: Any, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    if dtype == np.bool_ and steps > 1:
        raise unsupported("linspace_cpu", dtype)
    start, end = bound_numbers("linspace", start, end)
    return linspace_values(xp, start, end, steps, dtype)


def logspace_kernel(xp: Any, start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
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


def linspace_meta(xp: Any, start: Any, end: Any, steps: int, dtype: Any) -> Any:
    """The values of bounds given as tensors are not needed, only whether they are complex."""
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    complexes = [v.dtype.kind == "c" if isinstance(v, np.ndarray) else isinstance(v, complex) for v in (start, end)]
    made = dtypes.get_default_complex_dtype().numpy if any(complexes) else default()
    return meta_array((steps,), (1,), dtype or made)


def logspace_meta(xp: Any, start: Any, end: Any, steps: int, base: float, dtype: Any) -> Any:
    return linspace_meta(xp, start, end, steps, dtype)


def fast_steps(chars: str, *base: float) -> Any:
    """The fast form of `linspace`, or `logspace` with a base, for dtypes of these characters."""
    def fast(args: Any, dtype: Any) -> Any:
        if len(args) != 3 or type(args[2]) is not int or not 1 < args[2] < 4096 or native is None or not (
                is_small_number(args[0]) and is_small_number(args[1])):
            return None
        made = np.empty(args[2], default() if dtype is None else dtype.numpy)
        return made if made.dtype.char in chars and native.linspace(made, args[0], args[1], *base) else None
    return fast


BOUNDS = (("Tensor_Tensor", "Tensor start, Tensor end"), ("Tensor_Scalar", "Tensor start, Scalar end"),
          ("Scalar_Tensor", "Scalar start, Tensor end"), ("", "Scalar start, Scalar end"))
factory("linspace", *[(overload, f"{bounds}, int steps", linspace_kernel) for overload, bounds in BOUNDS],
        fast=fast_steps("fdl"), meta=linspace_meta, batch=families.loop)
factory("logspace", *[(overload, f"{bounds}, int steps, float base=10.0", logspace_kernel) for overload, bounds in BOUNDS],
        fast=fast_steps("f", 10.0), meta=logspace_meta, batch=families.loop)
