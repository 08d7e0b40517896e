"""Ops on `meta` tensors, which have a geometry but no data: shapes are inferred, nothing is computed.

NOTE [Shapes without data]
An op's results have shapes by one of four rules, none of which makes an array of the size of its operands:
1. view ops run on the memory that is not there, and an op may have a `meta` column of its own;
2. elementwise ops broadcast: dtype and memory order come from their kernel on operands of two elements per dimension;
3. operands of no more than a kilobyte are replaced by arrays of zeros;
4. of larger operands, every length is taken for an unknown. The kernel runs on short operands, twice for each unknown
   with that one made longer, which says how far each length of each result grows with it. A last run with all of them
   longer must agree; if one does not, or if the kernel cannot do with zeros, there is no rule and the call is an error.
"""
from __future__ import annotations

from math import lcm, prod
from typing import Any

import numpy as np

from retrograd.core import dtypes, storage
from retrograd.core.hooks import hooks
from retrograd.core.kernels import array_of, check_shapes, check_writable, compute_arrays
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import FLAG_META, Tensor, new_tensor, wrap
from retrograd.ops.memory.copy import meta_array

SMALL = 1024             # total bytes of operands up to which real zeros are used
KEPT = 7                 # lengths up to this one are kept, such as kernel sizes
LARGEST = 1 << 17        # maximum elements of an operand on which a kernel runs
STEP = 4                 # unknowns grow by a multiple of this, which strides among the arguments divide


def infer(op: Any, args: Any) -> Any:
    """The results of `op` as meta tensors."""
    device = args[op.device_arg] if op.device_arg >= 0 else None
    if device is not None and device.type != "meta":
        return finish(op, args, compute_arrays(op, [stand_in(a) for a in args]), False)
    if op.is_view:
        return finish(op, args, compute_arrays(op, args), True)
    check_devices(op, args)
    if op.meta == "values" or op.name == "index" and any([t is not None and t.array.dtype.char in "?B" for t in args[1]]):
        raise no_rule(op, "the shape of its result depends on values")
    if op.meta is not None:
        values = [array_of(a) for a in args]
        for i in op.dtype_args:
            if values[i] is not None:
                values[i] = values[i].numpy
        return finish(op, args, op.meta(np, *values), True)
    key = call_key(op, args)
    found = KNOWN.get(key) if key is not None else None
    if found is None:
        found = inferred(op, args)
        if key is not None:
            if len(KNOWN) > 4096:
                KNOWN.clear()
            KNOWN[key] = found
    shapes, listed = found
    made = [None if shape is None else meta_array(*shape) for shape in shapes]
    return finish(op, args, made if listed else made[0], True)


def check_devices(op: Any, args: Any) -> None:
    """Refuse to mix meta and real operands; 0-d operands and indices may be real."""
    if op.name == "copy_" and not args[0]._flags & FLAG_META:
        raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if op.is_inplace or not {p.name for p in op.schema.params}.isdisjoint(("index", "indices")):
        return
    operands = tensors_in(args)
    placed = [t for t in operands if t.array.ndim or t._flags & FLAG_META]
    if placed and any([(t._flags ^ placed[0]._flags) & FLAG_META for t in placed]):
        other = next(t for t in placed if (t._flags ^ placed[0]._flags) & FLAG_META)
        raise RuntimeError(f"Tensor on device {other.device} is not on the expected device {placed[0].device}! "
                           "Tensors on the meta device have no data, and can be computed with one another only.")


KNOWN: dict[Any, Any] = {}        # cached geometries


def call_key(op: OpDef, args: Any) -> Any:
    """The cache key of a result's geometry, None if it cannot be cached."""
    parts: list[Any] = [op]
    for value in args:
        part = key_of(value)
        if part is None and value is not None:
            return None
        parts.append(part)
    try:
        key = tuple(parts)
        hash(key)
    except TypeError:
        return None
    return key


def key_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        if not value._flags & FLAG_META:
            return None
        return value.array.shape, value.array.strides, value.array.dtype
    if isinstance(value, (list, tuple)):
        parts = [(item, type(item)) if not isinstance(item, Tensor) else key_of(item) for item in value]
        return None if any([p is None for p in parts]) else tuple(parts)
    return value, type(value)


def inferred(op: OpDef, args: Any) -> Any:
    """The geometries of the results, and whether they are several."""
    operands = tensors_in(args)
    if op.elementwise and op.promote is not None and not op.is_inplace and not op.multiple:
        return elementwise(op, args, operands), False
    if sum([t.array.nbytes for t in operands]) <= SMALL:
        made = run(op, args, stand_in)
        return ([None if a is None else (a.shape, storage.strides_of(a), a.dtype) for a in made], listed(op))
    return probed(op, args, operands), listed(op)


def listed(op: OpDef) -> bool:
    return bool(op.multiple)


def tensors_in(args: Any) -> list[Any]:
    return [t for a in args for t in (a if isinstance(a, (list, tuple)) else (a,)) if isinstance(t, Tensor)]


def run(op: OpDef, args: Any, replace: Any) -> list[Any]:
    """The arrays of the results for other operands."""
    try:
        result = compute_arrays(op, [replace(a) for a in args])
    except Exception:                        # zero integers may be divisors or lengths: retry with ones
        try:
            result = compute_arrays(op, [with_ones(replace(a)) for a in args])
        except Exception:
            result = None
        if result is None:
            raise
    return [None if a is None else np.asarray(a) for a in (result if op.multiple else (result,))]


def with_ones(value: Any) -> Any:
    """Replacement operands with integer zeros replaced by ones."""
    if isinstance(value, Tensor):
        return new_tensor(np.ones_like(value.array)) if value.array.dtype.kind in "iu" else value
    return [with_ones(item) for item in value] if isinstance(value, list) else value


def elementwise(op: OpDef, args: Any, operands: Any) -> Any:
    """Broadcast, with the dtype and memory order that short operands give."""
    try:
        shape = np.broadcast_shapes(*[t.array.shape for t in operands])
    except ValueError:
        check_shapes(op, args)
        raise
    made = run(op, args, lambda value: shortened(value, lambda n: min(n, 2)))[0]
    return [(shape, strides_like(made, shape), made.dtype)]


def probed(op: OpDef, args: Any, operands: Any) -> Any:
    """The rule for large operands: see NOTE [Shapes without data]."""
    unknowns = sorted({n for t in operands for n in t.array.shape if n > KEPT})
    numbers = [abs(n) for n in integers_in(args) if n not in unknowns]
    step = lcm(STEP, *[n for n in numbers if 1 < n <= 16])
    problem: Any = None
    bases = (KEPT - STEP + 1, 3 * STEP, 9 * STEP, max([n for n in numbers if n <= 1024], default=0) + step)
    for gap, base in [(gap, base) for gap in (0, 3 * step) for base in bases]:
        # with the remainders of the true lengths; in a second round also in their order, for ops that compare lengths
        short = {n: base + gap * i + (n - base) % step for i, n in enumerate(unknowns)}
        short = {n: place if place + 2 * step < n else n for n, place in short.items()}
        if any([prod([short.get(n, n) for n in t.array.shape]) > LARGEST for t in operands]):
            continue
        moving = [n for n in unknowns if short[n] < n]
        try:
            first = run(op, args, replacement(short))
            once = {n: run(op, args, replacement({**short, n: short[n] + step})) for n in moving}
            twice = {n: run(op, args, replacement({**short, n: short[n] + 2 * step})) for n in moving}
            every = run(op, args, replacement({n: short[n] + (step if n in moving else 0) for n in unknowns}))
            return [None if a is None else geometry(op, i, a, [(n, once[n][i], twice[n][i]) for n in moving], every[i], short,
                                                    step) for i, a in enumerate(first)]
        except Exception as error:               # too short for the op, invalid zeros, or not linear
            problem = problem or error
    if isinstance(problem, (IndexError, RuntimeError, ValueError)):
        raise problem
    raise no_rule(op, str(problem or "its operands have too many dimensions"))


def replacement(lengths: dict[int, int]) -> Any:
    """Replaces unknown lengths in tensors and in arguments that repeat them."""
    def length(n: int) -> int:
        return lengths.get(n, n)

    def replace(value: Any) -> Any:
        if type(value) is int:
            return length(value)
        if isinstance(value, (list, tuple)) and value and all([type(item) is int for item in value]):
            return tuple([length(item) for item in value])
        return shortened(value, length)
    return replace


def integers_in(args: Any) -> list[int]:
    return [n for a in args for n in (a if isinstance(a, (list, tuple)) else (a,)) if type(n) is int]


def geometry(op: OpDef, i: int, a: Any, runs: Any, every: Any, short: Any, step: int) -> Any:
    """Shape, strides and dtype of result `i`, whose lengths must be linear in the unknown ones."""
    shape = []
    for d in range(a.ndim):
        true = predicted = a.shape[d]
        for n, once, twice in runs:
            change = once.shape[d] - a.shape[d]
            if twice.shape[d] - a.shape[d] != 2 * change or change * (n - short[n]) % step:
                raise no_rule(op, "a length of its result is not linear in those of its operands")
            true += change * (n - short[n]) // step
            predicted += change
        if every.ndim != a.ndim or every.shape[d] != predicted:
            raise no_rule(op, "a length of its result is not linear in those of its operands")
        shape.append(true)
    return tuple(shape), strides_like(a, tuple(shape)), a.dtype


def strides_like(array: Any, shape: Any) -> tuple[int, ...]:
    """Strides for `shape` in the memory order of `array`."""
    strides = storage.strides_of(array)
    if array.size == 0 or not storage.is_non_overlapping_and_dense(array.shape, strides):
        return storage.contiguous_strides(shape)
    made = [0] * len(shape)
    step = 1
    for d in sorted(range(len(shape)), key=lambda d: (strides[d], array.shape[d] != 1, -d)):
        made[d] = step
        step *= max(shape[d], 1)
    return tuple(made)


def no_rule(op: OpDef, why: str) -> NotImplementedError:
    return NotImplementedError(f"aten::{op.name}: attempted to run this operator with Meta tensors, but there was no fake impl "
                               f"or Meta kernel registered for this operator: {why}.")


def stand_in(value: Any) -> Any:
    """A real tensor of zeros for a meta tensor; everything else stays."""
    return shortened(value, lambda n: n)


def shortened(value: Any, length: Any) -> Any:
    """Zeros for a meta tensor, in its memory order, with other lengths; everything else stays."""
    if isinstance(value, Tensor):
        array = value.array
        shape = tuple([length(n) for n in array.shape])
        order = sorted(range(array.ndim), key=lambda d: (array.strides[d], -d))
        strides, step = [0] * array.ndim, 1
        for d in order:
            if array.strides[d]:
                strides[d] = step
                step *= max(shape[d], 1)
        if shape == array.shape:
            strides = list(storage.strides_of(array))
        made = storage.empty_strided(shape, tuple(strides), array.dtype)
        storage.owner_of(made)[...] = 0
        if array.ndim >= 2 and array.dtype.kind in "fc" and made.flags.writeable and 0 not in strides:
            made[..., range(min(shape[-2:])), range(min(shape[-2:]))] = 1        # an invertible matrix
        return new_tensor(made)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return [shortened(item, length) for item in value]
    return value


def finish(op: OpDef, args: Any, arrays: Any, is_meta: bool) -> Any:
    if op.is_inplace:
        target = args[0]
        source = dtypes.BY_NUMPY[arrays.dtype]
        if not dtypes.can_cast(source, target.dtype):
            raise RuntimeError(f"result type {source.legacy} can't be cast to the desired output type {target.dtype.legacy}")
        if arrays.shape != target.array.shape:
            raise RuntimeError(f"output with shape {list(target.array.shape)} doesn't match the broadcast shape "
                               f"{list(arrays.shape)}")
        check_writable(target.array)
        return target
    if not op.multiple:
        return as_meta(op, arrays) if is_meta else wrap(arrays)
    made = [None if a is None else as_meta(op, a) if is_meta else wrap(a) for a in arrays]
    return made if op.returns_list else op.result_type(*made) if op.result_type else tuple(made)


def as_meta(op: OpDef, array: Any) -> Any:
    """A meta tensor with the geometry of `array`; views keep their offset in the reserved memory."""
    array = np.asarray(array)
    own = op.is_view or op.meta is None
    t = wrap(array if own else meta_array(array.shape, storage.strides_of(array), array.dtype))
    t._flags |= FLAG_META
    return t


hooks.meta = infer
