"""Runs kernels on tensors: dtype promotion, the kernel call, in-place results.

NOTE [Kernels]
A kernel gets NumPy arrays (or numbers) in schema order and returns new arrays or views. The steps shared by all kernels are
here: operands are cast to the op's common dtype (`promote`), half precision is computed in float32 where the op says so
(`widen`), and NumPy's errors about shapes become PyTorch's.

NOTE [Complex numbers of half precision]
complex32 is a type of ml_dtypes, which NumPy does not count among the complex ones (its kind is "W"): kernels would not know
it. Ops with the trait "chalf" compute in complex64 and narrow what they return; views, new tensors and ops with the trait
"as_is" run on the arrays as they are; the others have no kernel for this dtype, as in PyTorch.
"""
from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from retrograd.core import dtypes, lean, storage
from retrograd.core.algorithms import native
from retrograd.core.copying import converted
from retrograd.core.dtypes import BY_NUMPY
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor, new_tensor

probe: Any
try:
    from retrograd.core import probe  # type: ignore[attr-defined, no-redef, unused-ignore]
except ImportError:                 # nothing is compiled
    probe = None

ndarray = np.ndarray
HALVES = dtypes.HALVES
FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
COMPLEX64 = np.dtype(np.complex64)
complex_half: Any = None            # NumPy's type of complex32, once a program uses it


def set_complex_half(found: Any) -> None:
    global complex_half
    complex_half = found


dtypes.when_complex32(set_complex_half)


def compute_arrays(op: OpDef, args: Sequence[Any]) -> Any:
    """Run the op's kernel on the arrays of the arguments."""
    values = list(args)
    for i in op.tensor_args:
        values[i] = array_of(args[i])
    return run_kernel(op, args, values)


def run_kernel(op: OpDef, args: Sequence[Any], values: list[Any]) -> Any:
    """Run the kernel on `values`, the arguments with tensors replaced by their arrays."""
    if complex_half is not None and takes_complex_half(op, args, values):
        return run_complex_half(op, args, values)
    uniform = alike = uniformity(op, values)
    if op.is_inplace:
        if uniform:
            result = written(op, args, values, uniform)
            if result is not None:
                return result
        uniform = 0
    if op.check is not None and not (uniform == 2 and op.checks_dtypes):
        if op.native is not None and getattr(op.check, "proven", False):
            result = op.native(*values)
            if result is not None:
                return result
        try:
            op.check(*args)
        except NotImplementedError as error:
            if not said_first(error):
                check_before_dtypes(op, args, values)
            raise
    for i in op.dtype_args:
        if values[i] is not None:
            values[i] = values[i].numpy
    if op.native is not None:
        result = op.native(*values)
        if result is None and op.widen and not uniform and native is not None and not op.is_inplace and not op.random:
            result = native.in_float(op.native, values, bool(op.elementwise))
        if result is not None:
            return result
    if uniform:
        try:
            if op.direct:
                return run_direct(op, operands(op, values))
            return op.compute(np, *values)
        except NotImplementedError as error:
            if not said_first(error):
                check_before_dtypes(op, args, values)
            raise
        except (ValueError, IndexError, TypeError) as error:
            if op.promote is not None:
                check_shapes(op, args)
            raise explain(op, args, error) from None
    if op.is_inplace and (op.promote is not None or guarded(op)):
        if "apart" not in op.traits:
            check_writable(args[0].array)
            check_overlap(args[0].array, [args[i] for i in op.tensor_args])
        elif "apart_first" in op.traits and -max(args[0].array.ndim, 1) <= args[1] < max(args[0].array.ndim, 1):
            check_apart(args[0].array, [args[i] for i in op.tensor_args[1:]])
    if op.promote is not None:
        check_shapes(op, args)
        if not alike:
            promote_operands(op, args, values)
            if complex_half is not None and takes_complex_half(op, args, values):
                return run_complex_half(op, args, values)
    order = orders(op, args, values) if op.elementwise and not op.is_inplace else None
    result = run_native(op, args, values)
    if result is not None:
        return result if order is None or result.ndim < 2 else in_order(op, order, result)
    narrow = widen(op, values) if op.widen else None
    if narrow is not None and op.native is not None and not op.is_inplace and not op.random:     # it may take float32 only
        result = op.native(*values)
        if result is not None:
            result = narrowed(result, narrow)
            return result if order is None or type(result) is not ndarray or result.ndim < 2 else in_order(op, order, result)
    try:
        if op.direct:
            result = run_direct(op, operands(op, values))
        else:
            result = op.compute(np, *values)
    except (ValueError, IndexError, TypeError) as error:
        raise explain(op, args, error) from None
    if op.is_inplace and "apart" in op.traits and "apart_checked" not in op.traits:
        check_apart(args[0].array, [args[i] for i in op.tensor_args[1:]])
    if narrow is not None:
        result = narrowed(result, narrow)
    if order is not None and type(result) is ndarray and result.ndim > 1:
        result = in_order(op, order, result)
    return result


def takes_complex_half(op: OpDef, args: Sequence[Any], values: list[Any]) -> bool:
    """Whether an operand is of type complex32, or a result is to be."""
    for i in op.tensor_args:
        value = values[i]
        if type(value) is ndarray:
            if value.dtype is complex_half:
                return True
        elif isinstance(value, list):
            for item in value:
                if type(item) is ndarray and item.dtype is complex_half:
                    return True
    for i in op.dtype_args:
        if values[i] is dtypes.complex32:
            return True
    return False


def run_complex_half(op: OpDef, args: Sequence[Any], values: list[Any]) -> ndarray:
    """`run_kernel` with complex64 in the place of complex32; see NOTE [Complex numbers of half precision]."""
    if op.is_view or not op.tensor_args or "as_is" in op.traits or "view_copy" in op.traits:
        return op.compute(np, *[v.numpy if i in op.dtype_args and v is not None else v for i, v in enumerate(values)])
    found = [values[i] for i in op.tensor_args]
    flat = [v for value in found for v in (value if isinstance(value, list) else [value]) if type(v) is ndarray]
    joint = dtypes.result_type_of([BY_NUMPY[v.dtype] for v in flat if v.ndim], [BY_NUMPY[v.dtype] for v in flat if not v.ndim],
                                  [args[i] for i in op.scalar_args])
    wide_args, wide = list(args), list(values)
    for i in op.dtype_args:
        if values[i] is dtypes.complex32:
            wide_args[i] = wide[i] = dtypes.complex64
            joint = dtypes.complex32
        elif values[i] is not None:
            joint = values[i]
    for i in op.tensor_args:
        value = values[i]
        if isinstance(value, list):
            wide[i] = [widened_complex(v) for v in value]
            wide_args[i] = [v if v is None else new_tensor(v) for v in wide[i]]
        elif type(value) is ndarray:
            wide[i] = widened_complex(value)
            wide_args[i] = new_tensor(wide[i])
    if "chalf" not in op.traits:
        raise refusal(op, wide_args, wide)
    if op.is_inplace and op.promote != "compare" and not dtypes.can_cast(joint, BY_NUMPY[values[0].dtype]):
        raise RuntimeError(f"result type {joint.legacy} can't be cast to the desired output type "
                           f"{BY_NUMPY[values[0].dtype].legacy}")
    result = run_kernel(op, wide_args, wide)
    if joint is dtypes.complex32 or op.is_inplace:
        result = narrowed_complex(result)
    return result


def refusal(op: OpDef, args: Sequence[Any], values: list[Any]) -> Exception:
    """The error of an op without complex numbers of half precision: that of other complex numbers, if there is one."""
    try:
        run_kernel(op, args, values)
    except (RuntimeError, IndexError) as error:
        return type(error)(str(error).replace("ComplexFloat", "ComplexHalf"))
    return NotImplementedError(f'"{op.name.removesuffix("_")}_cpu" not implemented for \'ComplexHalf\'')


def widened_complex(value: Any) -> Any:
    """A copy in complex64 of an array of type complex32, in the same order; others as they are."""
    return value.astype(COMPLEX64) if type(value) is ndarray and value.dtype is complex_half else value


def narrowed_complex(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(narrowed_complex(r) for r in result)
    result = np.asarray(result)
    if result.dtype == COMPLEX64:
        return result.astype(complex_half)
    return result.astype(np.float16) if result.dtype == FLOAT32 else result


def said_first(error: Exception) -> bool:
    """Whether a dtype error comes before all others: one raised by the op itself, not by its kernel."""
    return hasattr(error, "first") or '" not implemented for' not in str(error)


def check_before_dtypes(op: OpDef, args: Sequence[Any], values: list[Any]) -> None:
    """Raise the other errors in the arguments of an op without a kernel for their dtype: PyTorch reports those first."""
    if op.promote is not None:
        if op.is_inplace:
            check_writable(args[0].array)
        check_shapes(op, args)
    elif op.is_inplace:
        if op.elementwise and "unguarded" not in op.traits:
            check_writable(args[0].array)
    elif len(op.tensor_args) == 1 and not op.has_lists and not op.random:
        tried = list(values)
        value = values[op.tensor_args[0]]
        tried[op.tensor_args[0]] = np.ones_like(value, FLOAT32)            # values are looked at after dtypes
        try:
            op.compute(np, *tried)
        except (RuntimeError, IndexError) as error:
            if not isinstance(error, NotImplementedError) and type(error).__name__ != "_LinAlgError" and (
                    not str(error).startswith("value cannot be converted")):
                raise error from None
        except (ValueError, TypeError):
            pass


def written(op: OpDef, args: Sequence[Any], values: list[Any], uniform: int) -> Any:
    """The value that an in-place op writes, or its target once written; None if only the slow path can compute it."""
    pure, target = op.pure, values[0]
    if op.native is not None and op.check is None and not op.dtype_args:
        made = op.native(*values)
        if made is not None:
            return made
    if pure is None or pure.multiple or guarded(op) or not target.flags.c_contiguous:
        return None
    if op.check is not None and not (uniform == 2 and op.checks_dtypes):
        try:
            op.check(*args)
        except NotImplementedError:           # the slow path raises the right error
            return None
    for i in op.dtype_args:
        if values[i] is not None:
            return None
    for i in op.tensor_args:
        other = values[i]
        if other is not target and other is not None and (
                other.base is not None or target.base is not None) and storage.owner_of(other) is storage.owner_of(target):
            return None
    native = pure.native
    if native is not None:
        into = getattr(native, "into", None)           # absent for products
        made = None if into is None else into(target, *values)
        if made is None:
            made = native(*values)
        return made if type(made) is ndarray and made.shape == target.shape and made.dtype == target.dtype else None
    if pure.ufunc is None or not op.direct:
        return None
    arrays = [values[i] for i in op.tensor_args]
    if any([other.shape != target.shape for other in arrays]):
        return None
    try:
        pure.ufunc(*arrays, out=target)
    except TypeError:             # NumPy does not support the dtype
        return None
    return target


def plain_uniformity(op: OpDef, values: list[Any]) -> int:
    """0 if the operands need promotion or widening or determine the memory order of the result; 2 if they are all float32
    or float64; else 1."""
    common = None
    answer = 2
    alike = op.promote is not None or op.elementwise
    for i in op.tensor_args:
        value = values[i]
        if value is None:
            continue
        if type(value) is not ndarray:
            return 0
        dtype = value.dtype
        if dtype is not FLOAT32 and dtype is not FLOAT64:
            if (op.widen or alike) and dtype.num > 16 or op.floats and dtype.kind != "c" or alike and op.scalar_args:
                return 0
            answer = 1
        if alike:
            if common is not None and dtype is not common:
                return 0
            common = dtype
        if op.elementwise and value.ndim > 1 and not (value.flags.c_contiguous and value.size and (
                1 not in value.shape or is_row_major(value))):
            return 0
    for i in op.scalar_args:
        if type(values[i]) is complex:
            return 0
    return answer


def run_native(op: OpDef, args: Sequence[Any], values: list[Any]) -> Any:
    """The result of the op's compiled kernel; None if there is none for these arguments."""
    source = op.pure if op.is_inplace else op if op.functional is None else op.functional
    if source is None or source.native is None:
        return None
    if op.is_inplace and values[0] is args[0].array:
        into = getattr(source.native, "into", None)
        result = None if into is None else into(values[0], *values)
        if result is not None or op.functional is not None:
            return result
        result = source.native(*values)
        return result if type(result) is ndarray and result.dtype == values[0].dtype else None
    return source.native(*values)


def run_direct(op: OpDef, arrays: Sequence[Any]) -> Any:
    """Run a kernel that is one xp function."""
    result = op.compute(*arrays)
    return result if type(result) is ndarray else np.asarray(result)


def check_shapes(op: OpDef, args: Sequence[Any]) -> None:
    """Check broadcasting, also to the target of an in-place op; shape errors come before dtype errors."""
    shapes = [args[i].array.shape for i in op.tensor_args if isinstance(args[i], Tensor)]
    if len(shapes) < 2 or shapes.count(shapes[0]) == len(shapes):
        return
    if op.leading:
        shapes.insert(0, shapes.pop(op.leading))
    joint = shapes[0]
    for shape in shapes[1:]:
        problem = broadcast_problem(joint, shape)
        if problem is not None:
            raise RuntimeError(problem)
        joint = lean.broadcast_shapes(joint, shape)
    if op.is_inplace and joint != shapes[0]:
        raise RuntimeError(f"output with shape {list(shapes[0])} doesn't match the broadcast shape {list(joint)}")


def orders(op: OpDef, args: Sequence[Any], values: list[Any]) -> list[Any] | None:
    """The arrays that determine the memory order of an elementwise op's result: the operands, or the copies of those that
    were cast."""
    found = []
    plain = True
    for i in op.tensor_args:
        value = args[i]
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = value.array
            if value.ndim > 1 and not (value.flags.c_contiguous and value.size
                                       and (1 not in value.shape or is_row_major(value))):
                plain = False
                if values[i] is not value and value.size:
                    value = storage.empty_strided(value.shape, storage.joint_strides(value.shape, [value]), value.dtype)
        found.append(value)
    return None if plain else found


def is_row_major(array: ndarray) -> bool:
    """Whether the strides are those of a new array, including dimensions of size 1, which NumPy ignores."""
    return bool(storage.strides_of(array) == storage.contiguous_strides(array.shape))


def in_order(op: OpDef, operands: Sequence[Any], result: ndarray) -> ndarray:
    """The result of an elementwise op in the memory order of its operands (arrays or numbers), the first having priority."""
    arrays = [a for a in operands if type(a) is ndarray]
    if len(operands) == 2 and result.flags.c_contiguous and is_spread(operands[0], operands[1], result):
        return result
    contiguous = all([a.flags.c_contiguous for a in arrays])
    if contiguous and result.flags.c_contiguous and result.size and 1 not in result.shape:
        return result
    if op.leading:
        arrays.insert(0, arrays.pop(op.leading))
    first = arrays[0]
    alike = len(arrays) == len(operands) and all([a.shape == result.shape for a in arrays])
    if alike and (contiguous or not result.size):
        wanted = storage.contiguous_strides(result.shape)
    elif alike and all([a.strides == first.strides for a in arrays]) and (
            storage.is_non_overlapping_and_dense(first.shape, storage.strides_of(first))):
        wanted = storage.strides_of(first)
    else:
        wanted = storage.joint_strides(result.shape, arrays)
    if storage.strides_of(result) == wanted:
        return result
    made = storage.empty_strided(result.shape, wanted, result.dtype)
    made[...] = result
    return made


def is_spread(x: ndarray, y: Any, result: ndarray) -> bool:
    """Whether `x` is one expanded number and `y` a contiguous array of the result's shape, which then determines the
    order."""
    return (type(x) is ndarray and type(y) is ndarray and y.flags.c_contiguous and not any(x.strides)
            and y.shape == result.shape and 1 not in y.shape)


def operands(op: OpDef, values: list[Any]) -> list[Any]:
    return [values[i] for i in op.tensor_args]


def array_of(value: Any) -> Any:
    """The array of a tensor, arrays of a list of tensors; numbers and None stay as they are."""
    if isinstance(value, Tensor):
        return value.array
    if isinstance(value, (list, tuple)):
        return [array_of(item) for item in value]
    return value


def common_dtype(operands: Sequence[Any]) -> dtypes.dtype:
    """The dtype that tensors and numbers promote to by PyTorch's categories; None is no operand."""
    dimensioned: list[dtypes.dtype] = []
    scalars: list[dtypes.dtype] = []
    numbers: list[Any] = []
    for t in operands:
        if isinstance(t, Tensor):
            (dimensioned if t.array.ndim else scalars).append(BY_NUMPY[t.array.dtype])
        elif t is not None:
            numbers.append(t)
    return dtypes.result_type_of(dimensioned, scalars, numbers)


def promoted_dtype(op: OpDef, operands: Sequence[Any]) -> dtypes.dtype:
    """The dtype in which an op computes."""
    common = common_dtype(operands)
    if op.promote == "float" and common.category < 2:
        common = dtypes.get_default_dtype()
    return common


def promote_operands(op: OpDef, args: Sequence[Any], values: list[Any]) -> None:
    """Cast the tensor operands in `values` to their common dtype."""
    tensors = []
    for i in op.tensor_args:
        if isinstance(args[i], (list, tuple)):
            tensors.extend(args[i])
        else:
            tensors.append(args[i])
    tensors.extend([args[i] for i in op.scalar_args])
    joint = promoted_dtype(op, tensors)
    if op.is_inplace and op.promote != "compare" and not dtypes.can_cast(joint, args[0].dtype):
        if op.out.startswith("cast: "):            # with its own error text
            raise RuntimeError(op.out[6:].format(out=args[0].dtype.legacy))
        raise RuntimeError(f"result type {joint.legacy} can't be cast to the desired output type {args[0].dtype.legacy}")
    common = joint.numpy
    exact = op.exact and common in HALVES and any([isinstance(t, Tensor) and t.array.ndim > 0 for t in tensors])
    for i in op.tensor_args:
        value = values[i]
        if exact and not isinstance(value, list) and value is not None and np.ndim(value) == 0:
            # a number keeps its precision, and so does a 0-d tensor that is not the first operand
            if type(value) is not ndarray or (value.dtype != common and i != op.tensor_args[0]):
                values[i] = np.asarray(value).astype(FLOAT32)
                continue
        if isinstance(value, list):
            values[i] = [v.astype(common, copy=False) if type(v) is ndarray else v for v in value]
        elif type(value) is ndarray:
            if value.dtype is not common:
                values[i] = value.astype(common, copy=False)
        elif value is not None:
            values[i] = np.asarray(value).astype(common)


def widen(op: OpDef, values: list[Any]) -> Any:
    """Cast half-precision operands to float32; return the original dtype, None if nothing was cast."""
    narrow = None
    for i in op.tensor_args:
        value = values[i]
        if isinstance(value, list):
            for k, v in enumerate(value):
                if type(v) is ndarray and v.dtype in HALVES:
                    narrow = v.dtype
                    value[k] = converted(v, FLOAT32)
        elif type(value) is ndarray and value.dtype in HALVES:
            narrow = value.dtype
            values[i] = converted(value, FLOAT32, "C" if 0 in value.strides else "K")      # stride 0 gives no order to preserve
    return narrow


def narrowed(result: Any, dtype: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return type(result)(narrowed(r, dtype) for r in result)
    if result is None:
        return None
    result = np.asarray(result)
    return converted(result, dtype) if result.dtype == FLOAT32 else result


def write_into(op: OpDef, target: Tensor, result: Any) -> None:
    """Copy the result of an in-place op into its target, if dtype and shape allow."""
    array = target.array
    if result is array:           # the kernel has written it
        return
    if "unguarded" not in op.traits:
        check_writable(array)
    if result.dtype is not array.dtype and not dtypes.can_cast(BY_NUMPY[result.dtype], target.dtype):
        source = BY_NUMPY[result.dtype]
        raise RuntimeError(f"result type {source.legacy} can't be cast to the desired output type "
                           f"{target.dtype.legacy}")
    if result.shape != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(result.shape)}")
    array[...] = result


def guarded(op: OpDef) -> bool:
    """Whether the op checks that it does not write to memory that it reads."""
    return bool(op.traits) and ("apart" in op.traits or "guarded" in op.traits)


def check_overlap(target: Any, operands: Any) -> None:
    """Refuse to write to memory from which other elements are read."""
    for value in operands:
        if isinstance(value, Tensor) and value.array is not target and storage.partly_overlap(target, value.array):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               "single memory location. Please clone() the tensor before performing the operation.")


def check_apart(target: ndarray, operands: Sequence[Any]) -> None:
    """Refuse to write to memory that is read; memory with gaps is not checked."""
    for value in operands:
        array = value.array if isinstance(value, Tensor) else value
        if isinstance(array, ndarray) and (array is target or target.size and np.may_share_memory(target, array) and all(
                [storage.dense_order(a.shape, storage.strides_of(a)) is not None for a in (target, array)])):
            raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                               "single memory location. Please clone() the tensor before performing the operation.")


def is_shared(array: ndarray) -> bool:
    """Whether several elements of an array share one memory location, as after `expand`."""
    return bool(array.size and 0 in array.strides and any([s == 0 and n > 1 for s, n in zip(array.strides, array.shape,
                                                                                           strict=True)]))


def check_writable(array: ndarray) -> None:
    """Refuse to write to memory that several elements share."""
    if 0 in array.strides and is_shared(array):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single "
                           "memory location. Please clone() the tensor before performing the operation.")


def explain(op: OpDef, args: Sequence[Any], error: Exception) -> Exception:
    """PyTorch's error for an error raised by NumPy."""
    if isinstance(error, TypeError) and "complex" in str(error) and any([isinstance(a, complex) for a in args]):
        return RuntimeError("value cannot be converted to type double without overflow")
    if isinstance(error, ValueError) and (op.promote is not None or "broadcast" in str(error)):
        shapes = [t.array.shape for i in op.tensor_args
                  for t in (args[i] if isinstance(args[i], (list, tuple)) else (args[i],)) if isinstance(t, Tensor)]
        for k in range(1, len(shapes)):
            problem = broadcast_problem(shapes[0], shapes[k])
            if problem is not None:
                return RuntimeError(problem)
    return error


def broadcast_problem(a: Sequence[Any], b: Sequence[Any]) -> str | None:
    """PyTorch's text for two shapes that do not broadcast; None if they do."""
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and a[-k] != 1 and b[-k] != 1:
            return (f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) at non-singleton "
                    f"dimension {max(len(a), len(b)) - k}")
    return None


uniformity: Any = plain_uniformity if probe is None else probe.uniformity


def references(items: list[Any], i: int) -> int:
    """The number of references to an item of a list; comparable with each other only."""
    return getrefcount(items[i])
