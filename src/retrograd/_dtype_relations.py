"""How dtypes, Python numbers and strides relate: the helpers that PyTorch keeps in `torch._prims_common`."""
from __future__ import annotations

from enum import Enum
from functools import reduce
from typing import Any

import retrograd as torch

REAL_OF = {torch.complex128: torch.float64, torch.complex64: torch.float32}
COMPLEX_OF = {torch.float64: torch.complex128, torch.float32: torch.complex64}
COMPUTED_IN = {torch.float16: torch.float32, torch.bfloat16: torch.float32}
TYPES = (bool, int, float, complex)


class ELEMENTWISE_TYPE_PROMOTION_KIND(Enum):
    """What the dtype of a result of an elementwise op is, besides that which the inputs promote to."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


# ---- kinds of dtypes
def is_boolean_dtype(dtype: Any) -> bool:
    """Whether it is `torch.bool`.

    >>> is_boolean_dtype(torch.int8)
    False
    """
    return bool(dtype is torch.bool)


def is_float_dtype(dtype: Any) -> bool:
    """Whether it is of real numbers.

    >>> is_float_dtype(torch.half), is_float_dtype(torch.complex64)
    (True, False)
    """
    return bool(dtype.is_floating_point)


def is_complex_dtype(dtype: Any) -> bool:
    """Whether it is of complex numbers.

    >>> is_complex_dtype(torch.complex64)
    True
    """
    return bool(dtype.is_complex)


def is_integer_dtype(dtype: Any) -> bool:
    """Whether it is of integers; truth values are none.

    >>> is_integer_dtype(torch.uint8), is_integer_dtype(torch.bool)
    (True, False)
    """
    return not (dtype.is_floating_point or dtype.is_complex or dtype is torch.bool)


def is_low_precision_dtype(dtype: Any) -> bool:
    """Whether computations go through a wider dtype.

    >>> is_low_precision_dtype(torch.bfloat16)
    True
    """
    return dtype in COMPUTED_IN


def is_dtype(dtype: Any) -> bool:
    """Whether something is a dtype.

    >>> is_dtype(float)
    False
    """
    return isinstance(dtype, torch.dtype)


# ---- from one to another
def corresponding_real_dtype(dtype: Any) -> Any:
    """The dtype of the parts of complex numbers.

    >>> corresponding_real_dtype(torch.complex64)
    torch.float32
    """
    return REAL_OF[dtype]


def corresponding_complex_dtype(dtype: Any) -> Any:
    """The complex dtype whose parts are of a dtype.

    >>> corresponding_complex_dtype(torch.float64)
    torch.complex128
    """
    return COMPLEX_OF[dtype]


def get_computation_dtype(dtype: Any) -> Any:
    """What ops compute in.

    >>> get_computation_dtype(torch.bfloat16), get_computation_dtype(torch.int8)
    (torch.float32, torch.int8)
    """
    return COMPUTED_IN.get(dtype, dtype)


def dtype_to_type(dtype: Any) -> type:
    """The Python type of the elements.

    >>> dtype_to_type(torch.int8), dtype_to_type(torch.half)
    (<class 'int'>, <class 'float'>)
    """
    if not is_dtype(dtype):
        raise AssertionError(f"dtype must be torch.dtype, got {type(dtype)}")
    return complex if dtype.is_complex else float if dtype.is_floating_point else bool if dtype is torch.bool else int


def type_to_dtype(typ: type) -> Any:
    """The dtype that tensors of such Python numbers get.

    >>> type_to_dtype(int), type_to_dtype(complex)
    (torch.int64, torch.complex64)
    """
    for kind, dtype in ((bool, torch.bool), (int, torch.int64), (float, torch.get_default_dtype())):
        if issubclass(typ, kind):
            return dtype
    if issubclass(typ, complex):
        return corresponding_complex_dtype(torch.get_default_dtype())
    raise ValueError(f"Invalid type {typ}!")


def get_higher_type(a: type, b: type) -> type:
    """The wider of two Python types of numbers.

    >>> get_higher_type(bool, float)
    <class 'float'>
    """
    for kind in (a, b):
        if kind not in TYPES:
            raise RuntimeError(f"Expected builtin numeric types, found {a}, {b}")
    return max(a, b, key=TYPES.index)


def get_higher_dtype(a: Any, b: Any) -> Any:
    """The dtype that two dtypes, tensors or numbers promote to; None stands for neither.

    >>> get_higher_dtype(torch.int8, torch.ones(1).half())
    torch.float16
    """
    kinds = [each if each is None or is_dtype(each) else each.dtype if isinstance(each, torch.Tensor)
             else type_to_dtype(type(each)) for each in (a, b)]
    if None in kinds:
        return kinds[0] or kinds[1]
    return torch.promote_types(*kinds)


def elementwise_dtypes(*args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[Any, Any]:
    """What an elementwise op computes in and what its result has, for tensors and numbers as inputs.

    >>> kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    >>> elementwise_dtypes(torch.ones(1).half(), 2, type_promotion_kind=kinds.DEFAULT)
    (torch.float32, torch.float16)
    >>> elementwise_dtypes(torch.ones(1).long(), type_promotion_kind=kinds.INT_TO_FLOAT)
    (torch.float32, torch.float32)
    """
    kinds, kind = ELEMENTWISE_TYPE_PROMOTION_KIND, type_promotion_kind
    given = [each for each in args if each is not None]
    result = torch.result_type(given[0], given[0]) if given else torch.get_default_dtype()
    tensors, numbers = [t for t in given if isinstance(t, torch.Tensor)], [n for n in given if not isinstance(n, torch.Tensor)]
    for group in ([t for t in tensors if t.ndim == 0], [t for t in tensors if t.ndim]):
        if group:
            kept = torch.empty((1,), dtype=reduce(torch.promote_types, [t.dtype for t in group]))
            weaker = [t for t in tensors if t.ndim == 0] if group[0].ndim else []
            result = reduce(lambda wide, t: torch.result_type(torch.empty((1,), dtype=wide), t), weaker, kept.dtype)
    for number in numbers:
        result = torch.result_type(torch.empty((1,), dtype=result) if any([t.ndim for t in tensors])
                                   else torch.empty((), dtype=result), number) if tensors else get_higher_dtype(result, number)
    computed = get_computation_dtype(result)
    if kind is kinds.DEFAULT:
        return computed, result
    if kind is kinds.NO_OPMATH:
        return result, result
    if kind is kinds.INT_TO_FLOAT:
        result = torch.get_default_dtype() if is_integer_dtype(result) or is_boolean_dtype(result) else result
        return get_computation_dtype(result), result
    if kind is kinds.ALWAYS_BOOL:
        return computed, torch.bool
    if kind is kinds.COMPLEX_TO_FLOAT:
        return computed, corresponding_real_dtype(result) if is_complex_dtype(result) else result
    if kind is kinds.BOOL_TO_LONG:
        return (torch.int64, torch.int64) if is_boolean_dtype(result) else (computed, result)
    raise ValueError(f"Unknown type promotion kind {kind}")


# ---- shapes and strides
def make_contiguous_strides_for(shape: Any, row_major: bool = True) -> tuple[int, ...]:
    """The strides of a contiguous tensor, or of one whose last two dimensions are swapped.

    >>> make_contiguous_strides_for((2, 3, 4)), make_contiguous_strides_for((2, 3, 4), row_major=False)
    ((12, 4, 1), (12, 1, 3))
    """
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    if not row_major and len(strides) > 1:
        strides[-2:] = [1, max(shape[-2], 1)]
    return tuple(strides)


def canonicalize_dim(rank: int, idx: int, wrap_scalar: bool = True) -> int:
    """A dimension counted from the front.

    >>> canonicalize_dim(3, -1)
    2
    """
    if rank < 0:
        raise IndexError(f"Rank cannot be negative but got {rank}")
    if rank == 0:
        if not wrap_scalar:
            raise IndexError(f"Dimension specified as {idx} but tensor has no dimensions")
        rank = 1
    if not -rank <= idx < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {idx})")
    return idx % rank


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """A dimension, or several, counted from the front.

    >>> canonicalize_dims(3, (0, -1))
    (0, 2)
    """
    if isinstance(indices, int):
        return canonicalize_dim(rank, indices, wrap_scalar)
    return tuple([canonicalize_dim(rank, idx, wrap_scalar) for idx in indices])


def is_same_shape(a: Any, b: Any) -> bool:
    """Whether two shapes are equal, whatever sequences they are.

    >>> is_same_shape([2, 3], (2, 3))
    True
    """
    return tuple(a) == tuple(b)


def is_expandable_to(shape: Any, desired: Any) -> bool:
    """Whether a shape can be broadcast to another.

    >>> is_expandable_to((1, 3), (2, 2, 3)), is_expandable_to((2,), (3,))
    (True, False)
    """
    pairs = zip(reversed(shape), reversed(desired), strict=False)
    return len(shape) <= len(desired) and all([have in (1, want) for have, want in pairs])
