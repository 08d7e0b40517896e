"""Rules shared by many ops: shape and batching rules by family, and helpers of derivative rules."""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core import forward
from retrograd.core.convert import SMALL
from retrograd.core.dispatch import call
from retrograd.core.modes import current_mode
from retrograd.core.opdef import OpDef
from retrograd.core.state import grad_enabled, switches, tls
from retrograd.core.tensor import FLAG_SUBCLASS, FLAG_WRAPPER, Tensor, conj, counter_of, wants_grad
from retrograd.ops import late


def wrap_dim(dim: int, ndim: int, *, scalar_ok: bool = True) -> int:
    """A dimension counted from the front, or PyTorch's IndexError."""
    if 0 <= dim < ndim:
        return dim
    size = max(ndim, 1) if scalar_ok else ndim
    if not size:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if not -size <= dim < size:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-size}, {size - 1}], but got {dim})")
    return dim % size


def wrap_dims(dims: Any, ndim: int) -> tuple[int, ...]:
    """Several dimensions, each counted from the front and given only once."""
    if len(dims) == 1:
        return (wrap_dim(dims[0], ndim),)
    wrapped = tuple([wrap_dim(d, ndim) for d in dims])
    if len(set(wrapped)) != len(wrapped):
        repeated = next(d for i, d in enumerate(wrapped) if d in wrapped[:i])
        raise RuntimeError(f"dim {repeated} appears multiple times in the list of dims")
    return wrapped


def with_attributes(rule: Any, **attributes: Any) -> Any:
    """`rule`, with facts about it that an interpreter reads."""
    vars(rule).update(attributes)
    return rule


def is_watched() -> bool:
    """Whether a rule's results may be differentiated, so that it must use a differentiable formula."""
    return grad_enabled() or forward.levels.current >= 0


def will_differentiate(t: Any) -> bool:
    """Whether derivatives by this tensor may be needed."""
    return bool(t._flags) or (grad_enabled() and wants_grad(t))


def fill_zeros(grad: Any, sizes: Any, version: int, method: str, *args: Any) -> Any:
    """The result of `method` on zeros: written in place, on zeros of that version, but for gradients of transforms and classes
    and while a dispatch mode is on."""
    zeros = grad.new_zeros(sizes)
    if grad._flags or any([isinstance(a, Tensor) and a._flags for a in args]) or (
            switches.any_mode and tls.dispatch_modes):
        return getattr(zeros, method)(*args)
    if version and zeros._flags:
        zeros.zero_()
    elif version:
        counter_of(zeros).n = version
    return getattr(zeros, method + "_")(*args)


def everything(t: Any) -> Any:
    """The values of a tensor as an array, including all examples if it is batched. A mode that records ops to run them again
    is told, since no op reads them."""
    mode = current_mode()
    if mode is not None and hasattr(mode, "_reads_values_"):
        mode._reads_values_()
    if not t._flags:
        return t.array
    while t._flags & FLAG_WRAPPER:
        t = t._extra.batch.value
    t = t.detach()
    return t.resolve_conj().resolve_neg().array if t._flags else t.array


def anywhere(mask: Any) -> bool:
    """Whether a mask holds for any element, of any example."""
    if mask._flags & FLAG_SUBCLASS:                # a subclass may not have values
        return bool(mask.any())
    return bool(everything(mask).any())


def zeros_in(t: Any) -> int:
    """The number of zeros, in all examples."""
    return int((t == 0).sum()) if t._flags & FLAG_SUBCLASS else int((everything(t) == 0).sum())


FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
SINGLES: dict[Any, Any] = {}          # numbers as read-only arrays of float32: NumPy's conversion is slow
DOUBLES: dict[Any, Any] = {}
FEW = 256


def number_like(xp: Any, array: Any, number: Any) -> Any:
    """A Python number as a 0-d array of the array's dtype, not to be written to."""
    kind = type(number)
    if xp is np and (kind is float or kind is int) and (array.dtype is FLOAT32 or array.dtype is FLOAT64):
        known = SINGLES if array.dtype is FLOAT32 else DOUBLES
        made = known.get(number)
        if made is None or not number and kind is float:             # 0 and -0 are equal
            made = np.asarray(number).astype(array.dtype)
            if -SMALL < number < SMALL and (number or kind is int):
                if len(known) >= FEW:
                    known.clear()
                made.flags.writeable = False
                known[number] = made
        return made
    if isinstance(number, complex) and array.dtype.kind != "c":
        if number.imag:
            name = (f"{array.dtype.name}_t" if array.dtype.kind in "iu" and array.dtype.itemsize != 4 else
                    "int" if array.dtype.kind == "i" else "double" if array.dtype.itemsize == 8 else "float")
            raise RuntimeError(f"value cannot be converted to type {name} without overflow\n"
                               f"{number} is complex, and the tensor is not.")
        number = number.real
    if array.dtype.kind in "iu" and isinstance(number, float) and not abs(number) < 2.0**63:
        raise RuntimeError(f"value cannot be converted to type {array.dtype.name}_t without overflow")
    return xp.asarray(number).astype(array.dtype)


# ---- batching: rule(op, args, dims, size) -> (result, its batch dimension)
# `args` are in schema order; `dims` has the batch dimension of each (None if unbatched; lists for lists).
def move_to_front(t: Any, dim: int | None) -> Any:
    return t if dim is None or dim == 0 else t.movedim(dim, 0)


def in_front(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The rule for ops on the last dimensions of one tensor, and for those that overwrite it."""
    return call(op, [move_to_front(args[0], dims[0]), *args[1:]]), 0


def example_ranks(args: Any, dims: Any) -> list[int]:
    """The number of dimensions of an example of each tensor."""
    return [t.array.ndim - (dim is not None) for t, dim in zip(args, dims, strict=True)]


def pointwise(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """Elementwise ops: batch dimension first, padded with ones to the largest rank; a single operand keeps its batch
    dimension."""
    if len(op.tensor_args) == 1 and not op.multiple:
        return call(op, args), dims[op.tensor_args[0]]
    ranks = [a.ndim - (d is not None) for a, d in zip(args, dims, strict=True) if isinstance(a, Tensor)]
    rank = max(ranks)
    tensor_dims = [dims[i] for i in op.tensor_args]
    moved = []
    for a, d in zip(args, dims, strict=True):
        if isinstance(a, Tensor) and d is not None:
            a = move_to_front(a, d)
            if a.ndim == 1 and (rank or None in tensor_dims) and (
                    a._flags & FLAG_SUBCLASS or current_mode() is not None):
                a.select(0, 0)            # modes see the op that determines an example's dtype
            if a.ndim - 1 < rank:
                a = a.reshape((a.shape[0],) + (1,) * (rank - a.ndim + 1) + tuple(a.shape[1:]))
        moved.append(a)
    result = call(op, moved)
    return result, (0,) * len(result) if op.multiple else 0


pointwise.elementwise = True  # type: ignore[attr-defined]


def shift_dims(*names: str, strict: bool = False) -> Any:
    """The rule for ops whose named arguments are dimensions: batch dimension first, dimensions counted after it; with
    `strict` 0-d examples are refused."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        params = op.schema.params
        rank = next(a.ndim - 1 for a, d in zip(args, dims, strict=True) if isinstance(a, Tensor) and d is not None)
        if rank == 0:                     # no dimension to count from
            if strict:
                raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
            return loop(op, args, dims, size)
        moved = []
        for a, d, p in zip(args, dims, params, strict=True):
            if isinstance(a, Tensor):
                a = move_to_front(a, d) if d is not None else a.expand((size, *a.shape))
            elif p.name in names and a is not None:
                a = wrap_dim(a, rank) + 1 if isinstance(a, int) else tuple([wrap_dim(x, rank) + 1 for x in a])
            moved.append(a)
        result = call(op, moved)
        return result, (0,) * len(result) if op.multiple else 0
    rule.refuses = strict  # type: ignore[attr-defined]
    return rule


def folded(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The rule for ops that treat each index of the first dimension separately: examples extend that dimension."""
    moved, count = [], 0
    for a, d, p in zip(args, dims, op.schema.params, strict=True):
        if isinstance(a, Tensor):
            a = move_to_front(a, d) if d is not None else a.expand((size, *a.shape))
            count = a.shape[1]
            a = a.reshape((size * count, *a.shape[2:]))
        elif p.name == "input_size":
            a = (size * a[0], *a[1:])
        moved.append(a)
    result = call(op, moved)
    if op.multiple:
        return tuple([r if r is None else r.reshape((size, count, *r.shape[1:])) for r in result]), tuple(
            [None if r is None else 0 for r in result])
    return result.reshape((size, count, *result.shape[1:])), 0


def element_by_element(name: str) -> Any:
    """The rule for ops elementwise in one argument; a loop if another one is batched."""
    def rule(op: OpDef, args: Any, dims: Any, size: int) -> Any:
        batched = [i for i, d in enumerate(dims) if d is not None]
        if [op.schema.params[i].name for i in batched] != [name]:
            return loop(op, args, dims, size)
        return call(op, args), dims[batched[0]]
    rule.loops = True  # type: ignore[attr-defined]
    return rule


def loop_and_warn(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """`loop` with vmap's warning for an op without a rule."""
    return loop(op, args, dims, size)


loop_and_warn.refuses = True  # type: ignore[attr-defined]      # what it raises is not its own fault


def varying_shapes(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """Refuse: the result shape would differ between examples."""
    raise RuntimeError(f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over "
                       f"aten::{op.name}. Please file an issue at https://github.com/pytorch/pytorch/issues if you need this "
                       "feature.")


def loop(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """One call per example: correct for every op, but slow."""
    def pick(a: Any, d: Any, i: int) -> Any:
        if isinstance(d, (list, tuple)):
            return [pick(x, y, i) for x, y in zip(a, d, strict=True)]
        return a if d is None else a.select(d, i)
    if size == 0:
        return no_examples(op, args, dims)
    results = [call(op, [pick(a, d, i) for a, d in zip(args, dims, strict=True)]) for i in range(size)]

    def stack(examples: Any) -> Any:
        made = late.stack(examples)
        return made.view(made.array.shape)          # as PyTorch, whose loop splits the batch dimension into those of its levels
    if op.multiple:          # an output that was not requested is None
        return tuple([None if r[0] is None else stack(list(r)) for r in zip(*results, strict=True)]), (0,) * len(results[0])
    return stack(results), 0


def no_examples(op: OpDef, args: Any, dims: Any) -> Any:
    """The result of a loop over zero examples, with the shape that an example would give."""
    def one(value: Any, dim: Any) -> Any:
        if isinstance(dim, (list, tuple)):
            return [one(v, d) for v, d in zip(value, dim, strict=True)]
        if dim is None:
            return value
        shape = value.array.shape
        return value.new_zeros(shape[:dim] + shape[dim + 1:])
    result = call(op, [one(value, dim) for value, dim in zip(args, dims, strict=True)])
    if op.multiple:
        return [r.new_zeros((0, *r.array.shape)) for r in result], (0,) * len(result)
    return result.new_zeros((0, *result.array.shape)), 0


__all__ = ["anywhere", "conj", "element_by_element", "everything", "folded", "is_watched", "loop", "move_to_front",
           "number_like", "pointwise", "shift_dims", "will_differentiate", "wrap_dim", "wrap_dims"]
