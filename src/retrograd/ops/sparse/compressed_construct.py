"""Constructors of tensors in compressed layouts, and their checks."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from retrograd.core import dtypes
from retrograd.core.api import expose
from retrograd.core.dispatch import call
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, defop
from retrograd.core.saved import alias
from retrograd.core.tensor import wants_grad
from retrograd.ops import late
from retrograd.ops.memory.copy import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from retrograd.ops.sparse.compressed import BY_ROW, IN_BLOCKS, Compressed
from retrograd.ops.sparse.construct import check_invariants_of, given_tensor, is_size
from retrograd.ops.sparse.coo import NAMES, data_of, is_sparse, layout_name, layout_of, sparse_tensor
from retrograd.ops.sparse.invariants import checking
from retrograd.ops.sparse.table import sparse_kernel, unbatched

LAYOUTS = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


def constructor_gradient(grad: Any, result: Any) -> Any:
    if is_sparse(grad) and layout_of(grad) is layout_of(result):
        return grad.values()
    return late.sparse_mask(grad, result).values()


from_parts = defop(
    "_sparse_compressed_tensor_unsafe(Tensor compressed_indices, Tensor plain_indices, Tensor values, SymInt[] size, *, "
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
    kernel=None, vjp=dict(values=constructor_gradient), batch=unbatched, node="SparseCompressedTensorBackward0",
    variants="",
    out=False,
)


@sparse_kernel("_sparse_compressed_tensor_unsafe")
def from_parts_kernel(op: OpDef, compressed_indices: Any, plain_indices: Any, values: Any, size: Any, dtype: Any, layout: Any,
                      device: Any, pin_memory: Any) -> Any:
    return sparse_tensor(Compressed(layout, alias(compressed_indices), alias(plain_indices), alias(values)), size)


def like_parts(self: Any, values: Any) -> Any:
    """A tensor of other values with the entries of `self`; recorded."""
    data = data_of(self)
    return call(from_parts, [alias(data.compressed), alias(data.plain), values, tuple(self.array.shape), values.dtype,
                             data.layout, None, None])


hooks.compressed_like = like_parts


def build(layout: Any, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any, requires_grad: bool,
          check: Any) -> Any:
    compressed, plain = given_tensor(compressed, None), given_tensor(plain, None)
    values = given_tensor(values, dtype)
    if size is None:
        check_ranks(layout, compressed, plain, values)
        size = inferred_size(layout, compressed.array, plain.array, values.array)
    if checking.enabled if check is None else check:
        if values.is_meta and plain.array.shape[-1]:
            raise RuntimeError(f"expected nnz to be 0 for sparse {layout.name[-3:].upper()} meta tensor but got "
                               f"{plain.array.shape[-1]}")
        check_parts(layout, compressed, plain, values, tuple(size))
    made = call(from_parts, [compressed, plain, values, tuple(size), values.dtype, layout, None, None])
    if requires_grad and not wants_grad(made):
        made.requires_grad_()
    return made


def inferred_size(layout: Any, compressed: Any, plain: Any, values: Any) -> tuple[int, ...]:
    """The smallest size that holds all entries."""
    batch = compressed.ndim - 1
    height, width = values.shape[batch + 1:batch + 3] if layout in IN_BLOCKS else (1, 1)
    major, minor = compressed.shape[-1] - 1, int(plain.max()) + 1 if plain.size else 0
    rows, columns = (major, minor) if layout in BY_ROW else (minor, major)
    return (*compressed.shape[:-1], rows * height, columns * width,
            *values.shape[batch + (3 if layout in IN_BLOCKS else 1):])


def names_of(layout: Any) -> tuple[str, str]:
    return ("crow_indices", "col_indices") if layout in BY_ROW else ("ccol_indices", "row_indices")


def check_ranks(layout: Any, compressed: Any, plain: Any, values: Any) -> None:
    """Check how many dimensions the parts have."""
    first, second = names_of(layout)
    for name, part in ((first, compressed), (second, plain), ("values", values)):
        if is_sparse(part):
            raise RuntimeError(f"expected {name} to be a strided tensor but got {layout_name(part)} tensor")
    a, b = compressed.array.ndim, plain.array.ndim
    if a < 1:
        raise RuntimeError(f"{first} must have dimensionality >= 1 but got {a}")
    if a != b:
        raise RuntimeError(f"{first} and {second} dimensionalities must be equal but got {a} and {b}, respectively")
    blocks = 2 if layout in IN_BLOCKS else 0
    if values.array.ndim <= a - 1 + blocks:
        raise RuntimeError("values must have dimensionality > sum of batch and block dimensionalities "
                           f"(={a - 1} + {blocks}) but got {values.array.ndim}")


def check_parts(layout: Any, compressed: Any, plain: Any, values: Any, size: Any) -> None:
    """The checks of `check_invariants`."""
    check_ranks(layout, compressed, plain, values)
    check_sizes(layout, compressed.array, plain.array, values.array, size)
    first, second = names_of(layout)
    kinds = compressed.dtype, plain.dtype
    if kinds[0] is not kinds[1]:
        raise RuntimeError(f"{first} and {second} must have the same dtype, bot got {kinds[0].legacy} and {kinds[1].legacy}, "
                           "respectively")
    if kinds[0] not in (dtypes.int32, dtypes.int64):
        raise RuntimeError(f"{first} and {second} dtype must be Int or Long, but got {kinds[0].legacy}")
    if compressed.is_meta:
        return
    check_order(layout, compressed.array, plain.array, minor_length(layout, values.array, size, compressed.array.ndim - 1))


def block_of(layout: Any, values: Any, batch: int) -> Any:
    return values.shape[batch + 1:batch + 3] if layout in IN_BLOCKS else (1, 1)


def minor_length(layout: Any, values: Any, size: Any, batch: int) -> int:
    """The number of columns (or rows, or blocks of them) that the plain indices address."""
    d = 1 if layout in BY_ROW else 0
    return int(size[batch + d] // max(block_of(layout, values, batch)[d], 1))


def check_sizes(layout: Any, compressed: Any, plain: Any, values: Any, size: Any) -> None:
    """Check the lengths of the parts against each other and the size."""
    first, second = names_of(layout)
    batch, blocks = compressed.ndim - 1, 2 if layout in IN_BLOCKS else 0
    dense = values.ndim - batch - blocks - 1
    if len(size) != batch + 2 + dense:
        raise RuntimeError("tensor dimensionality must be sum of batch, base, and dense dimensionalities "
                           f"(={batch} + 2 + {dense}) but got {len(size)}")
    lengths = [list(part.shape[:batch]) for part in (compressed, plain, values)]
    if any([n != list(size[:batch]) for n in lengths]):
        raise RuntimeError(f"all batch dimensions of {first} (={lengths[0]}), {second} (={lengths[1]}), and values "
                           f"(={lengths[2]}) must be equal to tensor batch dimensions (={list(size[:batch])})")
    block = block_of(layout, values, batch)
    for d in (0, 1):
        if size[batch + d] % max(block[d], 1):
            raise RuntimeError(f"tensor shape[{batch + d}] (={size[batch + d]}) must be divisible with blocksize[{d}] "
                               f"(={block[d]}) as defined by values shape")
    d = 0 if layout in BY_ROW else 1
    count = size[batch + d] // max(block[d], 1)
    what = ("row blocks" if d == 0 else "column blocks") if blocks else ("rows" if d == 0 else "columns")
    if compressed.shape[-1] != count + 1:
        raise RuntimeError(f"{first}.shape[-1] must be equal to the number of {what} + 1 (={count + 1}), but got "
                           f"{compressed.shape[-1]}")
    if plain.shape[-1] != values.shape[batch]:
        raise RuntimeError(f"{second}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
                           f"values.shape[{batch}], but got {plain.shape[-1]}")


def check_order(layout: Any, compressed: Any, plain: Any, limit: int) -> None:
    """Check that indices lie within the size and are sorted."""
    first, second = names_of(layout)
    many, few = ("nrows", "ncols") if layout in BY_ROW else ("ncols", "nrows")
    if (compressed[..., 0] != 0).any():
        raise RuntimeError(f"`{first}[..., 0] == 0` is not satisfied.")
    if (compressed[..., -1] != plain.shape[-1]).any():
        raise RuntimeError(f"`{first}[..., -1] == nnz` is not satisfied.")
    steps = np.diff(compressed)
    if (steps < 0).any() or (steps > limit).any():
        raise RuntimeError(f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {few}` is not satisfied.")
    if plain.size and not (plain.min() >= 0 and plain.max() < limit):
        raise RuntimeError(f"`0 <= {second} < {few}` is not satisfied.")
    batches = math.prod(plain.shape[:-1])
    for counts, indices in zip(steps.reshape(batches, steps.shape[-1]), plain.reshape(batches, plain.shape[-1]), strict=True):
        major = np.repeat(np.arange(counts.shape[0]), counts)
        if ((np.diff(indices) <= 0) & (np.diff(major) == 0)).any():
            raise RuntimeError(f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i = 1, ..., {many} are sorted and "
                               "distinct along the last dimension values` is not satisfied.")


KEYWORDS = ("dtype", "layout", "device", "pin_memory", "requires_grad", "check_invariants")
OPTIONS = ("*, torch.dtype dtype = None, torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool "
           "requires_grad = False, bool check_invariants = None")


def make_constructor(name: str, layout: Any) -> None:
    parts = (*(("compressed_indices", "plain_indices") if layout is None else names_of(layout)), "values", "size")

    def construct(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(parts, args, strict=False))
        given.update({key: value for key, value in kwargs.items() if key in parts})
        wrong = len(args) > 4 or set(kwargs) - set(KEYWORDS) - set(parts) or len(set(given) - {"size"}) != 3
        size = given.get("size")
        if wrong or not (size is None or is_size(size)):
            raise TypeError(invalid(name, parts, args, kwargs))
        wanted = kwargs.get("layout")
        if layout is not None and wanted not in (None, layout):
            raise RuntimeError(f"{name}: layout must be {NAMES[layout.name]} but got {NAMES[wanted.name]}")
        if layout is None and wanted not in LAYOUTS:
            shown = "none" if wanted is None else layout_name(wanted)
            raise RuntimeError(f"sparse_compressed_tensor expected sparse compressed tensor layout but got {shown}")
        compressed, plain, values = [given[part] for part in parts[:3]]
        return build(layout or wanted, compressed, plain, values, size, kwargs.get("dtype"),
                     kwargs.get("requires_grad", False), kwargs.get("check_invariants"))
    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = f"A tensor in the layout {layout or 'that is given'}, of its index arrays and values."
    expose(construct, name=name, method=False)


def invalid(name: str, parts: Any, args: Any, kwargs: Any) -> str:
    """PyTorch's error about arguments that do not fit."""
    kinds = [type(a).__name__ for a in args] + [f"{k}={type(v).__name__}" for k, v in kwargs.items()]
    first = ", ".join([f"object {part}" for part in parts[:3]])
    return (f"{name}() received an invalid combination of arguments - got ({', '.join(kinds)}), but expected one of:\n"
            f" * ({first}, tuple of ints size, {OPTIONS})\n * ({first}, {OPTIONS})\n")


for _kind in LAYOUTS:
    make_constructor(_kind.name + "_tensor", _kind)
make_constructor("sparse_compressed_tensor", None)


def make_validator(name: str, layout: Any) -> None:
    def validate(compressed_indices: Any, plain_indices: Any, values: Any, size: Any, layout: Any = layout) -> None:
        check_parts(layout, compressed_indices, plain_indices, values, tuple(size))
    expose(validate, name=name, method=False)


for _kind in LAYOUTS:
    make_validator(f"_validate_{_kind.name}_tensor_args", _kind)
make_validator("_validate_sparse_compressed_tensor_args", None)


@expose(method=False)
def _validate_sparse_coo_tensor_args(indices: Any, values: Any, size: Any, is_coalesced: Any = None) -> None:
    """Check the parts of a COO tensor."""
    check_invariants_of(indices, tuple(size), is_coalesced)
