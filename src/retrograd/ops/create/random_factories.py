"""Random tensors of a given size: rand, randn, randint, randperm, their `_like` forms, and the function normal."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import dtypes, generator, storage
from retrograd.core.api import EXTRA_FUNCTIONS, entry_of, expose
from retrograd.core.arguments import resolve
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import defop
from retrograd.core.schema import Schema
from retrograd.core.tensor import FUNCTIONS_BY_NAME
from retrograd.ops.create.constants import fast_empty_like, like_array, like_meta
from retrograd.ops.create.elements import check_size, default, plain_size
from retrograd.ops.create.factory import OPTIONS, PUBLIC_OPTIONS, factory, fill_out, require_grad
from retrograd.ops.create.random import (
    EXACT_BITS,
    integer_values,
    normal_float_tensor,
    normal_tensor_float,
    normal_tensor_tensor,
    normal_values,
    source_of,
    uniform_values,
    unsupported,
)
from retrograd.ops.memory.copy import meta_array
from retrograd.ops.shared import families

INT64 = np.dtype(np.int64)
GENERATOR = "Generator? generator"


def sized(size: Any, dtype: Any) -> Any:
    check_size(size)
    return np.empty(size, dtype or default())


def sized_meta(size: Any, dtype: Any) -> Any:
    check_size(size)
    return meta_array(size, storage.contiguous_strides(size), dtype or default())


def values_like(self: Any, dtype: Any, memory_format: Any, values: Any) -> Any:
    """Random values in a new array laid out like `self`."""
    if dtype is None and memory_format is None and self.size and self.flags.c_contiguous and 0 not in self.strides:
        array = np.empty(self.shape, self.dtype)
    else:
        array = like_array(self, dtype, memory_format, np.empty)
    made = values(array)
    if made is not array:
        array[...] = made
    return array


# ---- of floating point
def declare(name: str, values: Any, filler: str) -> None:
    """A factory of `values(array, 0.0, 1.0, generator)`, and its `_like` form, each with and without a generator."""
    def drawn(xp: Any, size: Any, *rest: Any) -> Any:
        return values(sized(size, rest[-1]), 0.0, 1.0, rest[0] if rest[1:] else None)

    def drawn_like(xp: Any, self: Any, *rest: Any) -> Any:
        gen = rest[0] if rest[2:] else None
        dtype, memory_format = rest[-2:]
        return values_like(self, dtype, memory_format, lambda array: values(array, 0.0, 1.0, gen))

    def fast(args: Any, dtype: Any) -> Any:
        size = plain_size(args)
        if size is None or dtype is not None and dtype.category < 2:
            return None
        return values(np.empty(size, default() if dtype is None else dtype.numpy), 0.0, 1.0, None)

    def fast_like(args: Any, dtype: Any) -> Any:
        array = fast_empty_like(args, dtype)
        if array is None or array.dtype.kind != "f":
            return None
        made = values(array, 0.0, 1.0, None)
        if made is not array:
            array[...] = made
        return array
    factory(name, ("generator", f"SymInt[] size, *, {GENERATOR}", drawn),
            ("", "SymInt[] size", drawn, dict(traits=("random",), steps=(filler, 0.0, 1.0))), fast=fast,
            meta=lambda xp, size, *rest: sized_meta(size, rest[-1]))
    factory(f"{name}_like", ("generator", f"Tensor self, *, {GENERATOR}", drawn_like), ("", "Tensor self", drawn_like),
            fast=fast_like, out=False, memory_format=True, meta=like_meta, batch=families.pointwise,
            traits=("random", "as_is"))


declare("rand", uniform_values, "uniform_.default")
declare("randn", normal_values, "normal_.default")


# ---- of integers
def randint_form(bounds: int, overload: str, seeded: bool) -> tuple[Any, ...]:
    """A form of `randint` with one or two bounds, with and without a generator."""
    def kernel(xp: Any, *args: Any) -> Any:
        low, high = args[:bounds] if bounds == 2 else (0, args[0])
        return integer_values(sized(args[bounds], args[-1] or INT64), low, high, args[bounds + 1] if seeded else None)
    parameters = f"{LIMITS[bounds]}, SymInt[] size" + (f", *, {GENERATOR}" if seeded else "")
    return overload, parameters, kernel, dict(meta=lambda xp, *args: sized_meta(args[bounds], args[-1] or INT64))


def randint_like_form(bounds: int, overload: str, seeded: bool) -> tuple[Any, ...]:
    """A form of `randint_like`; no bounds stand for one in a 0-d tensor."""
    def kernel(xp: Any, self: Any, *args: Any) -> Any:
        gen = args[bounds or 1] if seeded else None
        low, high = args[:2] if bounds == 2 else (0, args[0])
        if bounds == 0:
            if high.ndim:
                raise RuntimeError("high must be a scalar tensor and on CPU")
            high = int(high)
        dtype, memory_format = args[-2:]
        return values_like(self, dtype, memory_format, lambda array: integer_values(array, low, high, gen))
    parameters = f"Tensor self, {LIMITS[bounds]}" + (f", *, {GENERATOR}" if seeded else "")
    columns = dict(meta=like_meta, batch=families.pointwise) if bounds else dict(batch=families.loop)
    return overload, parameters, kernel, columns


LIMITS = ("Tensor high", "SymInt high", "SymInt low, SymInt high")
factory("randint", randint_form(1, "generator", True), randint_form(1, "", False), randint_form(2, "low_generator", True),
        randint_form(2, "low", False), traits=("random",))
factory("randint_like", randint_like_form(2, "low_generator_dtype", True), randint_like_form(2, "low_dtype", False),
        randint_like_form(0, "Tensor_generator", True), randint_like_form(0, "Tensor", False),
        randint_like_form(1, "generator", True), randint_like_form(1, "", False),
        out=False, memory_format=True, traits=("random",))


def randperm_kernel(xp: Any, n: int, *rest: Any) -> Any:
    """`rest`: the generator, if there is one, and the dtype."""
    dtype = rest[-1] or INT64
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.kind in "bc":
        raise unsupported("randperm", dtype)
    check_permutation(n, dtype)
    return generator.randperm(source_of(rest[0] if rest[1:] else None), n, dtype)


def check_permutation(n: int, dtype: Any) -> None:
    own = dtypes.BY_NUMPY[dtype]
    if own.category == 2:
        limit = 2 ** EXACT_BITS[own.name] + 1
        if n > limit:
            shown = {"float32": "2^24+1", "float64": "2^53+1"}.get(own.name, limit)
            raise RuntimeError(f"n cannot be greater than {shown} for {own.legacy} type.")
    elif n > int(np.iinfo(dtype).max) + 1:
        raise RuntimeError(f"value cannot be converted to type {own.name}_t without overflow")


factory("randperm", ("generator", f"SymInt n, *, {GENERATOR}", randperm_kernel),
        ("", "SymInt n", randperm_kernel, dict(traits=("random",))),
        meta=lambda xp, n, *rest: sized_meta((n,), rest[-1] or INT64),
    doc="""The numbers below n in random order.
    >>> torch.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """)


# ---- normal
normal_float_float = defop(
    f"normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, {OPTIONS}) -> Tensor",
    kernel=lambda xp, mean, std, size, generator, dtype, layout, device, pin_memory:
        normal_values(sized(size, dtype), mean, std, generator),
    meta=lambda xp, mean, std, size, generator, dtype, layout, device, pin_memory: sized_meta(size, dtype), variants="",
)
NORMAL_FORMS = [(normal_tensor_tensor, "Tensor mean, Tensor std, *, Generator? generator=None, Tensor? out=None"),
                (normal_tensor_float, "Tensor mean, float std=1, *, Generator? generator=None, Tensor? out=None"),
                (normal_float_tensor, "float mean, Tensor std, *, Generator? generator=None, Tensor? out=None")]
NORMAL_SCHEMAS = [Schema(f"normal({params}) -> Tensor") for _, params in NORMAL_FORMS] + [
    Schema(f"normal(float mean, float std, SymInt[] size, *, Generator? generator=None, Tensor? out=None, {PUBLIC_OPTIONS}) "
           "-> Tensor")]


@expose(method=False)
def normal(*args: Any, **kwargs: Any) -> Any:
    """Normal values with mean and standard deviation from tensors or numbers."""
    return normal_bound(*resolve("normal", NORMAL_SCHEMAS, args, kwargs))


def normal_bound(index: int, bound: Any) -> Any:
    if index == 3:
        mean, std, size, gen, out, dtype, layout, device, pin_memory, requires_grad = bound
        if out is None:
            made = call(normal_float_float, [mean, std, size, gen, dtype, layout, device, pin_memory or None])
        else:
            made = fill_out(normal_float_float, [mean, std, size, gen, dtype, layout, device, None], out, dtype)
        if requires_grad:
            require_grad(made)
        return made
    op = NORMAL_FORMS[index][0]
    if bound[3] is None:
        return call(op, bound[:3])
    hooks.assign_out(bound[3], call(op, bound[:3]), "normal")
    return bound[3]


direct_normal = entry_of("normal", NORMAL_SCHEMAS, [lambda bound, i=i: normal_bound(i, bound) for i in range(4)],
                         FUNCTIONS_BY_NAME["normal"], False)
direct_normal.__doc__ = FUNCTIONS_BY_NAME["normal"].__doc__
FUNCTIONS_BY_NAME["normal"] = EXTRA_FUNCTIONS["normal"] = direct_normal
