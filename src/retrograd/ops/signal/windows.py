"""Window functions for signal processing, and the Vandermonde matrix."""
from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean
from retrograd.core.algorithms import native
from retrograd.core.dtypes import is_inexact_type
from retrograd.core.kernels import HALVES
from retrograd.core.opdef import defop
from retrograd.core.tensor import counter_of
from retrograd.ops.create.elements import default
from retrograd.ops.create.factory import factory
from retrograd.ops.shared.elementwise import C_NAMES


def window(name: str, length: int, periodic: bool, dtype: Any, values: Any) -> Any:
    """The window of `length` points; a periodic one is a symmetric one with its last point left off."""
    dtype = dtype or default()
    if not is_inexact_type(dtype):
        found = C_NAMES[dtypes.BY_NUMPY[dtype].name]
        raise RuntimeError(f"{name} expects floating point dtypes, got: TensorOptions(dtype={found}"
                           ", device=cpu, layout=Strided (default), requires_grad=false (default), pinned_memory=false, "
                           "memory_format=(nullopt))")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    if length < 2:
        return lean.ones(length, dtype)
    if dtype.kind == "c":
        raise NotImplementedError(f'"arange_cpu" not implemented for \'{dtypes.BY_NUMPY[dtype].legacy}\'')
    count = length + 1 if periodic else length
    work = np.dtype(np.float32) if dtype in HALVES else dtype
    return values(np.arange(count).astype(work), count, work)[:length].astype(dtype)


def cosine(alpha: float, beta: float) -> Any:
    def values(x: Any, count: int, work: Any) -> Any:
        x *= work.type(math.pi * 2 / (count - 1))
        return np.cos(x) * work.type(-beta) + work.type(alpha)
    return values


def bartlett(x: Any, count: int, work: Any) -> Any:
    x *= work.type(2 / (count - 1))
    first = ((count - 1) >> 1) + 1
    x[first:] = x[first:] * work.type(-1) + work.type(2)
    return x


def blackman(x: Any, count: int, work: Any) -> Any:
    x *= work.type(math.pi / (count - 1))
    return np.cos(x * work.type(4)) * work.type(0.08) - np.cos(x * work.type(2)) * work.type(0.5) + work.type(0.42)


def kaiser(beta: float) -> Any:
    def values(x: Any, count: int, work: Any) -> Any:
        made = np.empty(count)
        if native is not None and native.kaiser(made, count, float(beta)):
            return made.astype(work)
        half = (count - 1) / 2
        ratio = np.asarray((x.astype(np.float64) - half) / half)
        return (np.i0(beta * np.sqrt(np.maximum(1 - ratio * ratio, 0))) / bessel(beta)).astype(work)
    return values


@lru_cache(maxsize=64)
def bessel(beta: float) -> Any:
    return np.i0(beta)


LENGTH = "int window_length"
PERIODIC = "int window_length, bool periodic"


def declare(name: str, shape: Any, *overloads: str, **defaults: float) -> None:
    """A window of `shape(parameters)`: with the default parameters, and the overloads that give the first of them."""
    def form(overload: str, parameters: str) -> tuple[str, str, Any]:
        def kernel(xp: Any, length: int, *args: Any) -> Any:
            periodic, *given = args[:-1] or (True,)
            return window(name, length, periodic, args[-1], shape(*given, *list(defaults.values())[len(given):]))
        return overload, parameters, kernel
    given = [f", float {parameter}" for parameter in defaults]
    factory(name, form("", LENGTH), form("periodic", PERIODIC),
            *[form(overload, PERIODIC + "".join(given[:i + 1])) for i, overload in enumerate(overloads)], out=False)


declare("hann_window", lambda: cosine(0.5, 0.5))
declare("bartlett_window", lambda: bartlett)
declare("blackman_window", lambda: blackman)
declare("hamming_window", cosine, "periodic_alpha", "periodic_alpha_beta", alpha=0.54, beta=0.46)
declare("kaiser_window", kaiser, "beta", beta=12.0)


def vander_tensor(x: Any, N: Any, increasing: bool) -> Any:
    """Powers of the elements of `x`, as the columns of a matrix."""
    if x.ndim != 1:
        raise RuntimeError(f"x must be a one-dimensional tensor but it has {x.ndim} dimensions.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    shape = (x.shape[0], count)
    if x.dtype.category < 2:
        x = x.to(dtypes.int64)
    result = x.new_ones(shape)
    if count > 1:
        rest = x.unsqueeze(1).expand((shape[0], count - 1)).clone()
        result.narrow(1, 1, count - 1).copy_(rest.cumprod(1))
    if increasing and count > 1:
        counter_of(result).n += 2         # the powers of each row are written in several steps
    return result if increasing else result.flip([1])


vander = defop("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", kernel=vander_tensor, composite=True,
               variants="function", out=False)
