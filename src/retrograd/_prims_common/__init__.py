"""Questions that reference implementations ask about shapes, strides, devices and types, under PyTorch's names."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from enum import Enum
from functools import reduce
from math import prod
from typing import Any

import retrograd as torch
from retrograd._dtype_relations import (
    ELEMENTWISE_TYPE_PROMOTION_KIND,
    canonicalize_dim,
    canonicalize_dims,
    corresponding_complex_dtype,
    corresponding_real_dtype,
    dtype_to_type,
    elementwise_dtypes,
    get_computation_dtype,
    get_higher_dtype,
    get_higher_type,
    is_boolean_dtype,
    is_complex_dtype,
    is_dtype,
    is_expandable_to,
    is_float_dtype,
    is_integer_dtype,
    is_low_precision_dtype,
    is_same_shape,
    make_contiguous_strides_for,
    type_to_dtype,
)
from retrograd.compile.fake_tensor import MetadataMismatchError

__all__ = ["ELEMENTWISE_TYPE_PROMOTION_KIND", "canonicalize_dim", "canonicalize_dims", "corresponding_complex_dtype",
           "corresponding_real_dtype", "dtype_to_type", "elementwise_dtypes", "get_computation_dtype", "get_higher_dtype",
           "get_higher_type", "is_boolean_dtype", "is_complex_dtype", "is_dtype", "is_expandable_to", "is_float_dtype",
           "is_integer_dtype", "is_low_precision_dtype", "is_same_shape", "make_contiguous_strides_for", "type_to_dtype"]

Number = (bool, int, float, complex)
NumberTypes = (bool, int, float, complex)
NumberType = bool | int | float | complex
RealNumberType = bool | int | float
NumberTypeType = type
IntLike, FloatLike, BoolLike = (int,), (float,), (bool,)
IntWithoutSymInt, FloatWithoutSymFloat = int, float
Dim = int
ShapeType = StrideType = DimsSequenceType = Sequence[int]
DimsType = int | Sequence[int]
DeviceLikeType = Any
Tensor = TensorLike = TensorLikeType = torch.Tensor
TensorSequenceType = Sequence[torch.Tensor]
TensorOrNumberLikeType = Any


class REDUCTION_OUTPUT_TYPE_KIND(Enum):
    """Which dtype the result of a reduction has."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


class RETURN_TYPE(Enum):
    """What an op gives back: new memory, a view, one of its operands, or nothing."""

    NEW = (0,)
    VIEW = (1,)
    INPLACE = (2,)
    NONE = (3,)


# ---- shapes and indices
def same_shape(a: Any, b: Any) -> bool:
    """Whether two shapes are the same.

    >>> same_shape((2, 3), [2, 3])
    True
    """
    return tuple(a) == tuple(b)


def check(b: bool, s: Callable[[], str], exc_type: type[Exception] = RuntimeError) -> None:
    """Raise with the message that `s` makes, unless `b`."""
    if not b:
        raise exc_type(s())


def validate_dim_length(length: int) -> None:
    """Refuse negative sizes."""
    torch._check(length >= 0)


def validate_shape(shape: Any) -> None:
    """Refuse what is no shape."""
    for length in shape:
        validate_dim_length(length)


def validate_strides(strides: Any) -> None:
    """Refuse negative strides."""
    for stride in strides:
        if stride < 0:
            raise AssertionError(f"stride must be non-negative, got {stride}")


def validate_idx(rank: int, idx: int) -> None:
    """Refuse an index that no dimension has."""
    if not (0 <= idx < rank or idx == 0):
        raise AssertionError(f"idx {idx} out of range for rank {rank}")


def validate_exclusive_idx(rank: int, ex_idx: int) -> None:
    """Refuse an end that lies outside."""
    if not 0 < ex_idx <= rank:
        raise AssertionError(f"ex_idx {ex_idx} out of range for rank {rank}")


def validate_dimension_indices(rank: int, indices: Any) -> None:
    """Refuse indices that no dimension has."""
    for idx in indices:
        validate_idx(rank, idx)


def validate_no_repeating_dims(dims: Any) -> None:
    """Refuse a dimension that is named twice."""
    if len(dims) != len(set(dims)):
        raise RuntimeError("duplicate value in the list of dims")


def is_valid_permutation(rank: int, perm: Any) -> bool:
    """Whether `perm` names each dimension once.

    >>> is_valid_permutation(3, (2, 0, 1))
    True
    """
    return sorted(perm) == list(range(rank))


def apply_perm(inp: Any, perm: Any) -> list[Any]:
    """The items of a sequence in another order.

    >>> apply_perm("abc", [2, 0, 1])
    ['c', 'a', 'b']
    """
    return [inp[i] for i in perm]


def extract_dims_from_varargs(dims: Any) -> Any:
    """Dimensions that were given one by one, or as one sequence.

    >>> extract_dims_from_varargs(((0, 1),)), extract_dims_from_varargs((0, 1))
    ((0, 1), (0, 1))
    """
    return dims[0] if dims and isinstance(dims[0], Sequence) else dims


def extract_shape_from_varargs(shape: Any, validate: bool = True) -> tuple[int, ...]:
    """A shape whose sizes were given one by one, or as one sequence."""
    found = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    if validate:
        validate_shape(found)
    return tuple(found)


def infer_size_shapes(a: Any, b: Any) -> tuple[int, ...]:
    """The shape that two shapes broadcast to.

    >>> infer_size_shapes((3, 1), (2,))
    (3, 2)
    """
    rank = max(len(a), len(b))
    sizes = []
    for i in range(-rank, 0):
        x, y = a[i] if len(a) >= -i else 1, b[i] if len(b) >= -i else 1
        if x != y and x != 1 and y != 1:
            raise RuntimeError(f"The size of tensor a ({x}) must match the size of tensor b ({y}) at non-jagged dimension "
                               f"{rank + i}")
        sizes.append(y if x == 1 else x)
    return tuple(sizes)


def infer_size(shape: Any, numel: int) -> tuple[int, ...]:
    """A shape with the size that was left open as -1.

    >>> infer_size((2, -1), 6)
    (2, 3)
    """
    shape, open_dims = tuple(shape), [i for i, n in enumerate(shape) if n == -1]
    if len(open_dims) > 1:
        raise RuntimeError("only one dimension can be inferred")
    others = prod([n for n in shape if n != -1])
    if any([n < -1 for n in shape]):
        raise RuntimeError(f"invalid shape dimension {next(n for n in shape if n < -1)}")
    if not (numel == others or open_dims and others > 0 and numel % others == 0):
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return tuple([numel // others if n == -1 else n for n in shape])


def reduction_dims(shape: Any, dims: Any) -> tuple[int, ...]:
    """The dimensions that are reduced, counted from the front: all if none are named."""
    if dims is None:
        return tuple(range(len(shape)))
    found = tuple([canonicalize_dim(len(shape), dim) for dim in dims])
    if len(found) != len(set(found)):
        raise RuntimeError("duplicate value in the list of dims")
    return found


def compute_reduction_output_shape(shape: Any, dimensions: Any) -> tuple[int, ...]:
    """The shape without the dimensions that are reduced.

    >>> compute_reduction_output_shape((2, 3, 4), (1,))
    (2, 4)
    """
    validate_dimension_indices(len(shape), dimensions)
    return tuple([n for i, n in enumerate(shape) if i not in dimensions])


# ---- memory
def compute_required_storage_length(shape: Any, strides: Any, storage_offset: int) -> int:
    """How many elements of memory a tensor reaches into.

    >>> compute_required_storage_length((2, 3), (3, 1), 5)
    11
    """
    if prod(shape) == 0:
        return 0
    return int(storage_offset + 1 + sum([(n - 1) * step for n, step in zip(shape, strides, strict=True)]))


def check_in_bounds_for_storage(a: Any, shape: Any, strides: Any, storage_offset: int) -> None:
    """Refuse a geometry that memory is too small for."""
    needed = compute_required_storage_length(shape, strides, storage_offset)
    if a.size() < needed:
        raise ValueError(f"Can't view a storage of size {a.size()} with an offset of {storage_offset}, shape of {shape!s}, and "
                         f"strides of {strides!s}, which requires a storage of size {needed}")


def make_channels_last_strides_for(shape: Any) -> tuple[int, ...]:
    """The strides of a tensor of 3 to 5 dimensions whose channels lie next to each other.

    >>> make_channels_last_strides_for((2, 3, 4, 5))
    (60, 1, 15, 3)
    """
    dims = [1, *range(len(shape) - 1, 1, -1), 0]
    strides, step = [0] * len(shape), 1
    for dim in dims:
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def is_contiguous(a: Any) -> bool:
    """Whether elements lie one after the other, the last dimension's next to each other."""
    return bool(a.is_contiguous())


is_contiguous_or_false = is_contiguous


def is_channels_last_contiguous(a: Any) -> bool:
    """Whether the channels of a tensor of 4 or 5 dimensions lie next to each other."""
    return is_channels_last_contiguous_2d(a) or is_channels_last_contiguous_3d(a)


def is_channels_last_contiguous_2d(a: Any) -> bool:
    """Whether the channels of images lie next to each other."""
    return a.dim() == 4 and bool(a.is_contiguous(memory_format=torch.channels_last))


def is_channels_last_contiguous_3d(a: Any) -> bool:
    """Whether the channels of volumes lie next to each other."""
    return a.dim() == 5 and bool(a.is_contiguous(memory_format=torch.channels_last_3d))


def validate_memory_format(memory_format: Any) -> None:
    """Refuse what is no memory format."""
    known = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
    if memory_format not in known:
        raise RuntimeError(f"Received unknown memory format {memory_format}!")


def is_contiguous_for_memory_format(a: Any, *, memory_format: Any) -> bool:
    """Whether elements lie in the order of a memory format."""
    validate_memory_format(memory_format)
    return bool(a.is_contiguous(memory_format=memory_format))


def suggest_memory_format(x: Any) -> Any:
    """The memory format that a tensor's strides are of."""
    if is_channels_last_contiguous_2d(x) and not x.is_contiguous():
        return torch.channels_last
    if is_channels_last_contiguous_3d(x) and not x.is_contiguous():
        return torch.channels_last_3d
    return torch.contiguous_format


def is_non_overlapping_and_dense_or_false(a: Any) -> bool:
    """Whether each element has a place of its own, without gaps.

    >>> is_non_overlapping_and_dense_or_false(torch.ones(2, 3).t())
    True
    """
    if a.is_sparse:
        return False
    step = 1
    for stride, n in sorted([(s, n) for s, n in zip(a.stride(), a.shape, strict=True) if n != 1]):
        if stride != step:
            return a.numel() == 0
        step *= n
    return True


def check_significant_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """Whether the strides that matter agree, and the first dimension where they do not."""
    return compare_strides(a, b, only_cuda, True)


def check_all_strides(a: Any, b: Any, *, only_cuda: bool = True) -> tuple[bool, int | None]:
    """Whether all strides agree, and the first dimension where they do not."""
    return compare_strides(a, b, only_cuda, False)


def compare_strides(a: Any, b: Any, only_cuda: bool, significant: bool) -> tuple[bool, int | None]:
    if (not only_cuda or "cuda" in (a.device.type, b.device.type)) and a.numel() > 0:
        for i, n in enumerate(a.shape):
            if a.stride()[i] != b.stride()[i] and not (significant and n <= 1):
                return False, i
    return True, None


def compare_tensor_meta(a: Any, b: Any, check_sizes: bool = True, check_strides: bool = False, *,
                        check_conj: bool = True) -> None:
    """Refuse two tensors that differ in what is known without looking at values."""
    if check_sizes and not is_same_shape(a.shape, b.shape):
        raise MetadataMismatchError(f"Shapes {a.shape} and {b.shape} are not equal!")
    if a.dtype != b.dtype:
        raise MetadataMismatchError(f"Dtypes {a.dtype} and {b.dtype} are not equal!")
    if a.device != b.device and {str(a.device), str(b.device)} != {"cuda:0", "cuda"}:
        raise MetadataMismatchError(f"Devices {a.device} and {b.device} are not equal!")
    if check_strides:
        same, idx = check_significant_strides(a, b, only_cuda=False)
        if not same:
            raise MetadataMismatchError(f"Stride mismatch! Strides are {a.stride()} and {b.stride()} (mismatched at {idx})!")
        if a.storage_offset() != b.storage_offset():
            raise MetadataMismatchError("Storage offset mismatch! Storage offsets are "
                                        f"{a.storage_offset()} and {b.storage_offset()}!")
    if check_conj and a.is_conj() != b.is_conj():
        raise MetadataMismatchError(f"Conj mismatch! is_conj is set to {a.is_conj()} and {b.is_conj()}")
    if a.is_neg() != b.is_neg():
        raise MetadataMismatchError(f"Neg mismatch! is_neg is set to {a.is_neg()} and {b.is_neg()}")


def compute_elementwise_output_strides(*tensors: Any) -> tuple[int, ...]:
    """The strides of what an elementwise op makes of tensors of one shape.

    >>> compute_elementwise_output_strides(torch.ones(2, 3).t())
    (1, 3)
    """
    if not tensors:
        raise ValueError("Can't compute elementwise output strides for zero tensors!")
    same = [t for t in tensors if isinstance(t, torch.Tensor) and not is_cpu_scalar_tensor(t)]
    if not same or same[0].dim() == 0:
        return ()
    like = [torch.empty_strided(t.shape, t.stride(), device="meta") for t in same]
    return tuple(reduce(torch.add, like, torch.empty((), device="meta")).stride())


def clone_preserve_strides(x: Any) -> Any:
    """A copy whose elements lie as those of `x`, overlaps included."""
    needed = compute_required_storage_length(x.size(), x.stride(), x.storage_offset())
    memory = torch.as_strided(x, (needed,), (1,), 0).clone()
    return torch.as_strided(memory, x.size(), x.stride(), x.storage_offset())


# ---- operands
def is_cpu_scalar_tensor(a: Any) -> bool:
    """Whether `a` is a tensor on the cpu without dimensions."""
    return isinstance(a, torch.Tensor) and a.dim() == 0 and a.device.type == "cpu"


def check_same_device(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Refuse tensors on several devices."""
    first = None
    for t in args:
        if not isinstance(t, torch.Tensor):
            if not isinstance(t, Number):
                raise RuntimeError(f"Unexpected type when checking for same device, {type(t)}!")
        elif not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(t)):
            first = t.device if first is None else first
            if first != t.device:
                raise RuntimeError(f"Tensor on device {t.device} is not on the expected device {first}!")


def check_same_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> None:
    """Refuse tensors of several shapes."""
    first = None
    for t in args:
        if not isinstance(t, torch.Tensor):
            if not isinstance(t, Number):
                raise RuntimeError(f"Unexpected type when checking for same shape, {type(t)}!")
        elif not (allow_cpu_scalar_tensors and is_cpu_scalar_tensor(t)):
            first = t.shape if first is None else first
            if not is_same_shape(first, t.shape):
                raise RuntimeError(f"Shape {t.shape} is not the expected shape {first}!")


def check_same_dtype(*args: Any) -> None:
    """Refuse tensors of several dtypes, and numbers of several types."""
    dtype: Any = None
    kind: Any = None
    for a in args:
        if isinstance(a, torch.Tensor):
            dtype = a.dtype if dtype is None else dtype
            kind = dtype_to_type(a.dtype) if kind is None else kind
            if dtype != a.dtype:
                raise RuntimeError(f"Tensor with dtype {a.dtype} is not the expected dtype of {dtype}!")
        elif isinstance(a, Number):
            kind = type(a) if kind is None else kind
            if kind is not type(a):
                raise RuntimeError(f"Scalar of type {type(a)} is not the expected type of {kind}!")
        else:
            raise RuntimeError(f"Unexpected type when checking for same dtype, {type(a)}!")


def extract_shape(*args: Any, allow_cpu_scalar_tensors: bool) -> Any:
    """The shape that all tensors have, or None if they differ."""
    found: Any = None
    scalar: Any = None
    for t in args:
        if not isinstance(t, torch.Tensor):
            if not isinstance(t, Number):
                raise RuntimeError(f"Unexpected type when checking for same shape, {type(t)}!")
        elif allow_cpu_scalar_tensors and is_cpu_scalar_tensor(t):
            scalar = t.shape
        else:
            found = t.shape if found is None else found
            if not is_same_shape(found, t.shape):
                return None
    return found if found is not None else scalar


def is_weakly_lesser_type(a: type, b: type) -> bool:
    """Whether numbers of type `a` are numbers of type `b`, too: bool, int, float, complex.

    >>> is_weakly_lesser_type(int, float), is_weakly_lesser_type(float, int)
    (True, False)
    """
    if a not in NumberTypes or b not in NumberTypes:
        raise RuntimeError(f"Expected builtin numeric types, found {a}, {b}!")
    return NumberTypes.index(a) <= NumberTypes.index(b)


def can_safe_cast_to(*, cast_to: Any, cast_from: Any) -> bool:
    """Whether a dtype is of the same or of a higher kind."""
    for kind in (is_complex_dtype, is_float_dtype, is_integer_dtype, is_boolean_dtype):
        if kind(cast_to):
            return True
        if kind(cast_from):
            return False
    raise ValueError(f"Received unknown dtypes {cast_to}, {cast_from}!")


def number_type(x: Any) -> type:
    """The type of a number."""
    return type(x)


def dtype_or_default(dtype: Any) -> Any:
    """A dtype, or the default one in the place of None."""
    return dtype if dtype is not None else torch.get_default_dtype()


def device_or_default(device: Any) -> Any:
    """A device, or the cpu in the place of None."""
    return device if device is not None else torch.device("cpu")


def layout_or_default(layout: Any) -> Any:
    """A layout, or the strided one in the place of None."""
    return layout if layout is not None else torch.strided


def canonicalize_device(device: Any) -> Any:
    """A device out of its name."""
    return device if isinstance(device, torch.device) else torch.device(device)


def set_correction(unbiased: bool | None = None, correction: Any = None) -> float:
    """The correction of a variance, said in one of two ways.

    >>> set_correction(unbiased=False), set_correction()
    (0.0, 1.0)
    """
    if correction is not None and unbiased is not None:
        raise RuntimeError("cannot specify both correction and unbiased arguments")
    if correction is None and unbiased is None:
        correction = 1.0
    elif correction is None:
        correction = 0.0 if unbiased is False else 1.0
    if not isinstance(correction, (int, float)):
        raise ValueError("correction argument should be integer or float")
    return float(correction)


def reduction_dtypes(arg: Any, output_dtype_kind: REDUCTION_OUTPUT_TYPE_KIND, dtype: Any = None) -> tuple[Any, Any]:
    """The dtypes that a reduction computes in and gives."""
    kinds = REDUCTION_OUTPUT_TYPE_KIND
    source = arg.dtype if dtype is None else dtype
    result: Any = None
    if output_dtype_kind in (kinds.SAME, kinds.COMPLEX_TO_FLOAT):
        result = source
        if output_dtype_kind is kinds.COMPLEX_TO_FLOAT and is_complex_dtype(result):
            result = corresponding_real_dtype(result)
    elif output_dtype_kind is kinds.ALWAYS_BOOL:
        result = torch.bool
    return get_computation_dtype(source), result


def check_fp_or_complex(dtype: Any, fn_name: str, allow_low_precision_dtypes: bool = True) -> None:
    """Refuse dtypes that are neither floating-point nor complex."""
    if not (is_float_dtype(dtype) or is_complex_dtype(dtype)):
        raise RuntimeError(f"{fn_name}: Expected a floating point or complex tensor as input. Got {dtype}")
    if not allow_low_precision_dtypes and is_low_precision_dtype(dtype):
        raise RuntimeError(f"{fn_name}: Half precision dtypes not supported. Got {dtype}")


def check_is_matrix(A: Any, f_name: str, arg_name: str = "A") -> None:
    """Refuse tensors with fewer than two dimensions."""
    if A.dim() < 2:
        raise RuntimeError(f"{f_name}: The input tensor {arg_name} must have at least 2 dimensions.")


def mask_tensor(mask: Any, t: Any) -> Any:
    """`t` where `mask` holds, zeros elsewhere."""
    return t.logical_and(mask) if t.dtype is torch.bool else torch.where(mask, t, 0)


def get_acc_type(dtype: Any, device: Any) -> Any:
    """The dtype that sums are computed in."""
    return get_computation_dtype(dtype) if device.type != "cpu" else {torch.float32: torch.float64}.get(
        get_computation_dtype(dtype), get_computation_dtype(dtype))


def invert_perm(perm: Any) -> list[int]:
    """The order that undoes another one.

    >>> invert_perm([2, 0, 1])
    [1, 2, 0]
    """
    return sorted(range(len(perm)), key=perm.__getitem__)


def get_dtype(x: Any) -> Any:
    """The dtype of a tensor, or the one that a number has."""
    return x.dtype if isinstance(x, torch.Tensor) else type_to_dtype(type(x))


def check_layout(layout: Any) -> None:
    """Refuse layouts other than the strided one."""
    if layout != torch.strided:
        raise NotImplementedError(f"PrimTorch doesn't support layout={layout}")


def check_pin_memory(pin_memory: bool) -> None:
    """Refuse pinned memory."""
    if pin_memory:
        raise NotImplementedError("PrimTorch does not support pinned memory")


def alert_not_deterministic(caller: str) -> None:
    """Warn or raise where deterministic algorithms are asked for, for a function without one."""
    if not torch.are_deterministic_algorithms_enabled():
        return
    text = f"{caller} does not have a deterministic implementation"
    if not torch.is_deterministic_algorithms_warn_only_enabled():
        raise RuntimeError(f"{text}, but you set 'torch.use_deterministic_algorithms(True)'.")
    warnings.warn(f"{text}, but you set 'torch.use_deterministic_algorithms(True, warn_only=True)'.", UserWarning, stacklevel=2)
