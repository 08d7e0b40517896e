"""The kernels that ops have for nested tensors; elementwise ops run on every part, by their ordinary kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.core.dispatch import compute
from retrograd.core.hooks import hooks
from retrograd.core.opdef import OpDef, fact
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, counter_of, new_tensor
from retrograd.nested.parts import (
    Ragged,
    arrays_of,
    is_jagged,
    is_nested,
    pack,
    pack_like,
    same_sizes,
    symbol_of,
    wrap_jagged,
    wrap_parts,
)
from retrograd.ops import late
from retrograd.ops.sparse.table import missing, tensors_among

KERNELS: dict[str, Any] = {}          # "add.Tensor" -> function of (op, *args), below autograd


def nested_kernel(*names: str) -> Callable[[Any], Any]:
    """Register a kernel for operands of which one is a nested tensor, or results that are."""
    def register(kernel: Any) -> Any:
        for name in names:
            KERNELS[name if "." in name else name + ".default"] = kernel
        return kernel
    return register


others = hooks.sparse


def run(op: OpDef, args: Any) -> Any:
    """Run an op that has a nested operand; those that have none are sparse."""
    nested = any([is_nested(t) for t in tensors_among(args)])
    kernel = KERNELS.get(f"{op.name}.{op.overload}")
    if kernel is not None and (nested or op.name.startswith("_nested_")):
        return kernel(op, *args)
    if not nested:
        return others(op, args)
    base = op.functional if op.is_inplace and op.functional is not None else op
    if base.elementwise or getattr(base.batch, "elementwise", False) or (
            fact(op.name, "nested") == "parts"):
        return at_once(op, args) if any([is_jagged(a) for a in args]) else each_part(op, args)
    raise not_jagged(op) if any([is_jagged(t) for t in tensors_among(args)]) else missing(op, args, "NestedTensorCPU")


def not_jagged(op: OpDef) -> NotImplementedError:
    """PyTorch's error about an op that jagged tensors do not have."""
    return NotImplementedError(f"aten.{op.name}.{op.overload}")


def each_part(op: OpDef, args: Any) -> Any:
    """Run an elementwise op on one part after the other."""
    check_operands(op, args)
    source = next(t for t in args if is_nested(t))
    results = [compute(op, [part_of(a, i, source) for a in args]) for i in range(len(arrays_of(source)))]
    if op.is_inplace:
        return args[0]
    if not op.multiple:
        return join(results, source)
    return tuple([join([result[nr] for result in results], source) for nr in range(len(op.schema.returns))])


def part_of(value: Any, i: int, source: Any) -> Any:
    """What stands for an argument beside part `i`: of a dense tensor with as many dimensions, the slice for that part."""
    if is_nested(value):
        return new_tensor(arrays_of(value)[i])
    if not isinstance(value, Tensor) or value.array.ndim < source.array.ndim:
        return value
    array = value.array[i if value.array.shape[0] > 1 else 0]
    length = arrays_of(source)[i].shape[0]
    return new_tensor(array if array.shape[0] == 1 else array[:length])


def at_once(op: OpDef, args: Any) -> Any:
    """Run an elementwise op on what the parts of jagged tensors are slices of."""
    check_operands(op, args)
    source = max([t for t in args if is_jagged(t)], key=lambda t: t.array.ndim)
    result = compute(op, [whole_of(a, source) for a in args])
    if op.is_inplace:
        return args[0]
    data = source._extra.sparse
    if not op.multiple:
        return wrap_jagged(result.array, data.ragged, data.axis)
    return tuple([wrap_jagged(r.array, data.ragged, data.axis) for r in result])


def whole_of(value: Any, source: Any) -> Any:
    """What stands for an argument beside all parts of `source`: a dense tensor with as many dimensions is spread over them."""
    if is_nested(value):
        return new_tensor(value._extra.sparse.whole)
    if not isinstance(value, Tensor) or value.array.ndim < source.array.ndim:
        return value
    array, data = value.array, source._extra.sparse
    if array.shape[0] == 1 and array.shape[data.axis + 1] == 1:
        return new_tensor(array[0])
    shape = list(array.shape[1:])
    shape[data.axis] = data.whole.shape[data.axis]
    made: Any = np.zeros(shape, array.dtype)
    before = (slice(None),) * data.axis
    for i, (start, end) in enumerate(data.ragged.spans()):
        piece = array[i if array.shape[0] > 1 else 0]
        made[(*before, slice(start, end))] = piece if piece.shape[data.axis] == 1 else piece[(*before, slice(end - start))]
    return new_tensor(made)


@nested_kernel("where.self")
def where(op: OpDef, condition: Any, self: Any, other: Any) -> Any:
    args = [condition, self, other]
    jagged = [t for t in args if is_jagged(t)]
    if not jagged:
        return each_part(op, args)
    if tls.task is None:                  # formulas may give dense tensors
        if any([isinstance(t, Tensor) and not is_nested(t) and t.array.ndim >= jagged[0].array.ndim for t in args]):
            raise ValueError("broadcast_tensors(): broadcasting nested tensors with dense tensors of equal or higher dim is "
                             "not currently supported")
        if not is_jagged(condition):
            raise ValueError("NestedTensor where_self(condition: jt_all, self: any, other: any): expected condition to be a "
                             "jagged layout NestedTensor")
    return at_once(op, args)


def join(results: list[Any], source: Any) -> Any:
    """One nested tensor of the results for each part of `source`."""
    dtype = results[0].array.dtype if results else source.array.dtype
    return pack_like(source, [result.array for result in results], dtype)


def check_operands(op: OpDef, args: Any) -> None:
    """Operands must be nested alike. Beside strided ones only numbers and tensors without dimensions may stand."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    if len(tensors) < 2:
        return
    nested = [t for t in tensors if is_nested(t)]
    if is_jagged(nested[0]):
        check_jagged(op, nested, tensors)
        return
    for t in tensors[:2]:
        if not is_nested(t) and t.array.ndim:
            first, second = ("non-nested", "nested") if t is tensors[0] else ("nested", "non-nested")
            raise RuntimeError(f"Expected both self and other to be nested, but got a {first} self and {second} other. Only "
                               "numbers and tensors without dimensions may stand beside a nested tensor.")
    # formulas spread reduced gradients over the parts, users do not
    if tls.task is None and not all([same_sizes(nested[0], t) for t in nested[1:]]):
        raise RuntimeError(f"{op.name.removesuffix('_')} does not support broadcasting when given a NestedTensor")


def check_jagged(op: OpDef, nested: list[Any], tensors: list[Any]) -> None:
    """Jagged operands must be ragged alike; dense ones may not vary along the ragged dimension, unless formulas give them."""
    symbol = nested[0]._extra.sparse.ragged.symbol
    what = f"cannot call binary pointwise function {op.name}.{op.overload} with inputs of shapes "
    if any([t._extra.sparse.ragged.symbol != symbol for t in nested[1:]]):
        a, b = [shown_shape(t) for t in nested[:2]]
        raise RuntimeError(f"{what}{a} and {b}. Only tensors that were computed from each other are known to be ragged alike.")
    at = nested[0]._extra.sparse.axis - nested[0].array.ndim + 1          # the ragged dimension, from the end
    for t in tensors:
        if is_nested(t) or t.array.ndim < -at:
            continue
        padded = t.array.ndim == nested[0].array.ndim and t.array.shape[0] == nested[0].array.shape[0]
        fits = t.array.shape[at] == 1 or padded and t.array.shape[at] == nested[0].array.shape[at]
        if t.array.ndim > nested[0].array.ndim or not fits and tls.task is None:
            first, second = [f"torch.Size({list(shown_shape(x))})" for x in ((nested[0], t) if tensors[0] is not t else
                                                                             (t, nested[0]))]
            raise RuntimeError(f"{what}{first} and {second}")
        check_holes(what, nested[0], t, t is tensors[0])


def check_holes(what: str, jagged: Any, dense: Any, dense_first: bool) -> None:
    """Beside parts with holes between them a dense tensor is padded parts of their own, which are not ragged alike."""
    ragged, rank = jagged._extra.sparse.ragged, dense.array.ndim
    leading = next((d for d, n in enumerate(dense.array.shape) if n != 1), rank)
    if ragged.lengths is None or rank - leading + 2 <= jagged.array.ndim or tls.task is not None:
        return
    at, shapes = jagged._extra.sparse.axis + 1, [shown_shape(jagged)]
    shapes.append((*dense.array.shape[:at], symbol_of(ragged.offsets), *dense.array.shape[at + 1:]))
    first, second = reversed(shapes) if dense_first else shapes
    raise RuntimeError(f"{what}{first} and {second}. The parts of the jagged tensor have holes between them.")


def check_contiguous(t: Any, function: str, parameters: str, name: str = "self") -> None:
    """Refuse a jagged tensor with holes between its parts, or whose ragged dimension is not the second one."""
    data = t._extra.sparse
    if data.ragged.lengths is not None or data.axis:
        raise ValueError(f"NestedTensor {function}({parameters}): expected {name} to be a contiguous jagged layout "
                         "NestedTensor")


def shown_shape(t: Any) -> tuple[Any, ...]:
    return t.array.symbolic if is_jagged(t) else tuple(t.array.shape)


# ---- making nested tensors, and taking them apart
@nested_kernel("_nested_tensor_from_tensor_list")
def from_list(op: OpDef, list: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    for i, t in enumerate(list):
        if t.array.ndim != list[0].array.ndim:
            raise RuntimeError("All Tensors given to nested_tensor must have the same dimension. Found dimension "
                               f"{t.array.ndim} for Tensor at index {i} and dimension {list[0].array.ndim} for Tensor at "
                               "index 0.")
    chosen = dtype.numpy if dtype is not None else list[0].array.dtype if list else np.dtype(np.float32)
    return pack([resolved(t) for t in list], chosen)


def resolved(t: Any) -> Any:
    return late.resolve_neg(late.resolve_conj(t.detach())).array


@nested_kernel("_nested_from_padded_and_nested_example")
def from_padded(op: OpDef, padded: Any, nt_example: Any) -> Any:
    if is_jagged(nt_example):
        data = nt_example._extra.sparse
        before = (slice(None),) * data.axis
        arrays = [padded.array[(i, *before, slice(n))] for i, n in enumerate(data.ragged.counts())]
    else:
        arrays = [padded.array[(i, *[slice(n) for n in part.shape])] for i, part in enumerate(arrays_of(nt_example))]
    return pack_like(nt_example, arrays, padded.array.dtype)


@nested_kernel("to_padded_tensor")
def to_padded(op: OpDef, self: Any, padding: float, output_size: Any) -> Any:
    shape = self.array.shape
    if is_jagged(self):
        return padded_jagged(self, padding, output_size)
    parts = arrays_of(self)
    if len(parts) and not any([part.size for part in parts]):
        raise RuntimeError("to_padded_tensor: at least one constituent tensor should have non-zero numel")
    if output_size is not None:
        if len(output_size) != len(shape):
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        if any([n < m for n, m in zip(output_size, shape, strict=True)]):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
        shape = tuple(output_size)
    made: Any = np.full(shape, padding, self.array.dtype)
    for i, part in enumerate(parts):
        made[(i, *[slice(n) for n in part.shape])] = part
    return new_tensor(made)


def padded_jagged(self: Any, padding: float, output_size: Any) -> Any:
    """The parts of a jagged tensor side by side; of the wanted size only the ragged length counts."""
    data = self._extra.sparse
    if data.ragged.lengths is not None:
        raise RuntimeError("to_padded_tensor(): not supported for nested tensors with holes")
    shape = list(tuple(self.array.shape))
    if output_size is not None and len(output_size) > data.axis + 1:
        shape[data.axis + 1] = output_size[data.axis + 1]
    made: Any = np.full(shape, padding, self.array.dtype)
    before = (slice(None),) * data.axis
    for i, part in enumerate(data.arrays):
        kept = (*before, slice(min(part.shape[data.axis], shape[data.axis + 1])))
        made[(i, *kept)] = part[kept]
    return new_tensor(made)


@nested_kernel("unbind.int")
def unbind(op: OpDef, self: Any, dim: int) -> Any:
    if dim not in (0, -self.array.ndim):
        if is_jagged(self):
            raise RuntimeError("unbind(): only supported for NestedTensor on dim=0")
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return [new_tensor(array) for array in arrays_of(self)]


@nested_kernel("values", "_nested_get_values")
def values(op: OpDef, self: Any) -> Any:
    data = self._extra.sparse
    if data.ragged is None:
        if not data.is_contiguous:
            raise RuntimeError("NestedTensor must be contiguous to get values.")
        return new_tensor(data.memory)
    made = new_tensor(data.whole)
    made._counter = counter_of(self)
    return made


@nested_kernel("_nested_with_values")
def with_values(op: OpDef, values: Any, nt_example: Any, axis: int) -> Any:
    data = nt_example._extra.sparse
    if data.ragged is not None:
        made = wrap_jagged(values.array, data.ragged, data.axis if axis < 0 else axis)
        made._counter = counter_of(values)
        return made
    arrays, at = [], 0
    for part in data.arrays:
        arrays.append(values.array[at:at + part.size].reshape(part.shape))
        at += part.size
    return pack_like(nt_example, arrays, values.array.dtype)


@nested_kernel("_nested_view_from_jagged")
def from_jagged(op: OpDef, self: Any, offsets: Any, lengths: Any, axis: int, least: Any, most: Any) -> Any:
    made = wrap_jagged(self.array, Ragged(offsets, lengths, least, most), axis)
    made._counter = counter_of(self)
    return made


# ---- views and shapes
def part_dim(self: Any, dim: int, what: str) -> int:
    """A dimension of the nested tensor as one of its parts; the first one has no counterpart."""
    rank = self.array.ndim
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if dim % rank == 0:
        raise RuntimeError(what)
    return dim % rank - 1


def viewed(self: Any, change: Callable[[Any], Any], rank: int, axis: int | None = None) -> Any:
    """The nested tensor of views of the parts."""
    data = self._extra.sparse
    if data.ragged is not None:
        return wrap_jagged(change(data.whole), data.ragged, data.axis if axis is None else axis)
    return wrap_parts(data.memory, [change(array) for array in data.arrays], rank)


@nested_kernel("transpose.int")
def transpose(op: OpDef, self: Any, dim0: int, dim1: int) -> Any:
    if is_jagged(self) and 0 in (dim0 % self.array.ndim, dim1 % self.array.ndim):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    a = part_dim(self, dim0, "Nested tensor dimension 0 cannot be transposed")
    b = part_dim(self, dim1, "Nested tensor dimension 0 cannot be transposed")
    axis = self._extra.sparse.axis
    return viewed(self, lambda array: array.swapaxes(a, b), self._extra.sparse.rank, {a: b, b: a}.get(axis, axis))


@nested_kernel("permute")
def permute(op: OpDef, self: Any, dims: Any) -> Any:
    if not is_jagged(self):
        raise missing(op, [self, dims], "NestedTensorCPU")
    if len(dims) != self.array.ndim:
        raise ValueError(f"permute(): number of dimensions in the tensor input ({self.array.ndim}) does not match the length "
                         f"of the desired ordering of dimensions ({len(dims)}).")
    order = [dim % self.array.ndim - 1 for dim in dims][1:]
    if dims[0] % self.array.ndim:
        raise ValueError("Permute is not supported on the batch dimension for jagged NT")
    if sorted(order) != list(range(self._extra.sparse.rank)):
        raise ValueError("permute(): duplicate dims are not allowed.")
    return viewed(self, lambda array: array.transpose(order), len(order), order.index(self._extra.sparse.axis))


@nested_kernel("detach", "alias", "view_as")
def same(op: OpDef, self: Any, *rest: Any) -> Any:
    return viewed(self, lambda array: array.view(), self._extra.sparse.rank)


@nested_kernel("select.int")
def select(op: OpDef, self: Any, dim: int, index: int) -> Any:
    rank = self.array.ndim
    if dim % rank == 0:
        arrays = arrays_of(self)
        if not -len(arrays) <= index < len(arrays):
            raise IndexError("tuple index out of range" if is_jagged(self) else
                             f"index {index} is out of bounds for dimension 0 with size {len(arrays)}")
        return new_tensor(arrays[index])
    d = part_dim(self, dim, "")
    data = self._extra.sparse
    if data.ragged is not None and data.ragged.lengths is not None and d != data.axis:
        raise ValueError("select(): not yet supported on dim != 0 for non-contiguous nested tensor with holes")
    if data.ragged is not None and d == data.axis:
        raise RuntimeError("select(): not supported for NestedTensor on ragged dim")
    if data.ragged is not None and not -data.whole.shape[d] <= index < data.whole.shape[d]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(data.whole.shape)} at dimension {d}")
    for array in arrays_of(self):
        if not -array.shape[d] <= index < array.shape[d]:
            raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {array.shape[d]}")
    return viewed(self, lambda array: array[(*(slice(None),) * d, index, ...)], data.rank - 1, data.axis - (d < data.axis))


@nested_kernel("unsqueeze")
def unsqueeze(op: OpDef, self: Any, dim: int) -> Any:
    rank = self.array.ndim + 1
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if dim % rank == 0:
        if is_jagged(self):
            raise RuntimeError("unsqueeze(): not supported for NestedTensor on dim=0")
        raise RuntimeError("unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you "
                           "need this feature, please open an issue on github describing your use case.")
    data, d = self._extra.sparse, dim % rank - 1
    return viewed(self, lambda array: np.expand_dims(array, d), data.rank + 1, data.axis + (d <= data.axis))


@nested_kernel("squeeze.dim")
def squeeze(op: OpDef, self: Any, dim: int) -> Any:
    if is_jagged(self):
        check_contiguous(self, "squeeze_dim", "self: jt, dim: any")
    d = part_dim(self, dim, "squeeze(): not supported for NestedTensor on dim=0" if is_jagged(self) else
                 "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you need "
                            "this feature, please open an issue on github describing your use case.")
    data = self._extra.sparse
    if data.ragged is not None and d == data.axis:
        raise RuntimeError("squeeze(): not supported for NestedTensor on ragged dim")
    if any([array.shape[d] != 1 for array in data.arrays]):
        return viewed(self, lambda array: array.view(), data.rank)
    return viewed(self, lambda array: array.squeeze(d), data.rank - 1, data.axis - (d < data.axis))


@nested_kernel("view", "reshape")
def view(op: OpDef, self: Any, size: Any) -> Any:
    """The parts in new shapes; -1 keeps the length of an old dimension, or is worked out for one new dimension."""
    arrays = arrays_of(self)
    if not size or size[0] != len(arrays):
        raise RuntimeError(f"{op.name}: For now nested view cannot change or infer the implicit batch dimension")
    inferred = [d for d, n in enumerate(size[1:]) if n == -1 and d >= self._extra.sparse.rank]
    if len(inferred) > 1:
        raise RuntimeError("only one dimension can be inferred")
    wanted = [tuple([array.shape[d] if n == -1 and d < array.ndim else n for d, n in enumerate(size[1:])]) for array in arrays]
    made = []
    for array, shape in zip(arrays, wanted, strict=True):
        known = int(np.prod([n for n in shape if n != -1], dtype=np.int64))
        if -1 not in shape and known != array.size or -1 in shape and (known == 0 or array.size % known):
            raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {array.size}")
        part = array.reshape(shape)
        if array.size and not np.shares_memory(part, array):
            if op.name == "view":
                raise RuntimeError("view size is not compatible with input tensor's size and stride (at least one dimension "
                                   "spans across two contiguous subspaces). Use .reshape(...) instead.")
            return pack_like(self, [a.reshape(s) for a, s in zip(arrays, wanted, strict=True)], None, len(size) - 1)
        made.append(part)
    return wrap_parts(self._extra.sparse.memory, made, len(size) - 1)


@nested_kernel("chunk")
def chunk(op: OpDef, self: Any, chunks: int, dim: int) -> Any:
    rank = self.array.ndim
    if dim % rank != rank - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    if chunks <= 0:
        raise RuntimeError("chunk() requires `chunks` greater than 0")
    length = self.array.shape[-1]
    if length % chunks:
        raise RuntimeError("Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by "
                           f"chunks, got: {length} % {chunks} != 0")
    step = length // chunks
    return [viewed(self, lambda array, i=i: array[..., i * step:(i + 1) * step], self._extra.sparse.rank)  # type: ignore[misc]
            for i in range(chunks)]


@nested_kernel("split_with_sizes")
def split(op: OpDef, self: Any, split_sizes: Any, dim: int) -> Any:
    rank = self.array.ndim
    if dim % rank != rank - 1:
        raise RuntimeError("split_with_sizes for nested tensors is currently only supported for the last dimension.")
    length = self.array.shape[-1]
    if sum(split_sizes) != length:
        raise RuntimeError(f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                           f"-1), but got split_sizes={list(split_sizes)}")
    ends = np.cumsum(split_sizes).tolist()
    return [viewed(self, lambda array, i=i, n=n: array[..., i - n:i], self._extra.sparse.rank)       # type: ignore[misc]
            for i, n in zip(ends, split_sizes, strict=True)]


@nested_kernel("embedding")
def embedding(op: OpDef, weight: Any, indices: Any, *rest: Any) -> Any:
    if is_nested(weight) or is_jagged(indices):
        raise missing(op, [weight, indices], "NestedTensorCPU")
    made = [compute(plain(op), [weight, new_tensor(array), *rest]).array for array in arrays_of(indices)]
    return pack(made, weight.array.dtype, indices._extra.sparse.rank + 1)


@nested_kernel("cat")
def cat(op: OpDef, tensors: Any, dim: int) -> Any:
    if not all([is_nested(t) for t in tensors]):
        raise RuntimeError("expected each tensor in given list to be nested")
    if dim % tensors[0].array.ndim:
        place = dim % tensors[0].array.ndim - 1
        if any([len(arrays_of(t)) != len(arrays_of(tensors[0])) for t in tensors]):
            raise RuntimeError("cat(): nested tensors that are joined part by part must have as many parts")
        made = [np.concatenate(parts, place) for parts in zip(*[arrays_of(t) for t in tensors], strict=True)]
        return pack_like(tensors[0], made, tensors[0].array.dtype)
    return pack([array for t in tensors for array in arrays_of(t)], tensors[0].array.dtype, tensors[0]._extra.sparse.rank)


# ---- products
def both_nested(op: OpDef, a: Any, b: Any) -> None:
    for t, (first, second) in ((a, ("non-nested", "nested")), (b, ("nested", "non-nested"))):
        if not is_nested(t):
            raise RuntimeError(f"Expected both to be nested, but got a {first} self and {second} other")


@nested_kernel("bmm", "matmul")
def multiply(op: OpDef, self: Any, other: Any) -> Any:
    both_nested(op, self, other)
    x, y = arrays_of(self), arrays_of(other)
    if op.name == "bmm" and (self.array.ndim != 3 or other.array.ndim != 3):
        which, rank = ("batch1", self.array.ndim) if self.array.ndim != 3 else ("batch2", other.array.ndim)
        raise RuntimeError(f"{which} must be a 3D tensor, got {rank}D")
    if self.array.ndim < 3 or other.array.ndim != self.array.ndim:
        raise RuntimeError(f"matmul: For nested tensors, only inputs with >= 3 dims and equal ranks are currently supported; "
                           f"got {self.array.ndim} and {other.array.ndim}")
    if len(x) != len(y):
        raise RuntimeError(f"{op.name}: Expected size for the 1st dimension of 2nd input tensor to be: {len(x)} but got: "
                           f"{len(y)}.")
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        if a.shape[-1] != b.shape[-2]:
            raise RuntimeError(f"{i}-th nested matrices in batch cannot be multiplied ({a.shape[-2]}x{a.shape[-1]} and "
                               f"{b.shape[-2]}x{b.shape[-1]})")
    made = [np.matmul(a, b) for a, b in zip(x, y, strict=True)]
    return pack(made, self.array.dtype, self._extra.sparse.rank)


@nested_kernel("linear")
def linear(op: OpDef, input: Any, weight: Any, bias: Any) -> Any:
    if is_nested(weight) or not is_nested(input):
        raise RuntimeError("Linear requires a nested input and a weight that is not nested")
    made = [np.matmul(array, weight.array.T) for array in arrays_of(input)]
    return pack_like(input, [array if bias is None else array + bias.array for array in made], input.array.dtype)


# ---- along a dimension
def along(op: OpDef, args: Any, place: int, what: str) -> list[Any]:
    """The results of `op` on each part, its argument at `place` being a dimension."""
    nested = next(a for a in args if is_nested(a))
    dim = part_dim(nested, args[place], what)
    return [compute(op, [new_tensor(arrays_of(a)[i]) if is_nested(a) else dim if k == place else a for k, a in enumerate(args)])
            for i in range(len(arrays_of(nested)))]


@nested_kernel("_softmax")
def softmax(op: OpDef, self: Any, dim: int, half_to_float: bool) -> Any:
    what = ("softmax(): not supported when reducing across the batch dimension for NestedTensor" if is_jagged(self) else
            "Cannot apply softmax across nested dimension 0")
    return join(along(op, [self, dim, half_to_float], 1, what), self)


@nested_kernel("_softmax_backward_data")
def softmax_backward(op: OpDef, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return join(along(op, [grad_output, output, dim, input_dtype], 2, ""), output)


@nested_kernel("sum.default")
def sum_all(op: OpDef, self: Any, dtype: Any) -> Any:
    if not is_jagged(self):
        raise missing(op, [self, dtype], "NestedTensorCPU")
    return compute(plain(op), [new_tensor(self._extra.sparse.whole), dtype])


@nested_kernel("mean.default")
def mean_all(op: OpDef, self: Any, dtype: Any) -> Any:
    if not is_jagged(self):
        raise missing(op, [self, dtype], "NestedTensorCPU")
    return compute(plain(op), [new_tensor(self._extra.sparse.whole), dtype])


def plain(op: OpDef) -> Any:
    """The op itself: the twin of formulas.py has no kernel for the parts."""
    return getattr(op.packet, op.overload)


@nested_kernel("sum.dim_IntList")
def sum_dims(op: OpDef, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    rank = self.array.ndim
    if dim is None or len(dim) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if dim[0] % rank != rank - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {dim[0]} "
                           "instead.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    return join([compute(plain(op), [new_tensor(array), (-1,), True, dtype]) for array in arrays_of(self)], self)


@nested_kernel("_nested_sum_backward")
def spread_sum(op: OpDef, grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    arrays = [np.broadcast_to(g if keepdim else np.expand_dims(g, -1), array.shape)
              for g, array in zip(arrays_of(grad), arrays_of(self), strict=True)]
    return pack_like(self, arrays, grad.array.dtype)


@nested_kernel("_nested_select_backward")
def put_part(op: OpDef, grad_output: Any, self: Any, dim: int, index: int) -> Any:
    dtype = grad_output.array.dtype
    made = pack_like(self, [np.zeros(array.shape, dtype) for array in arrays_of(self)], dtype)
    if dim % self.array.ndim == 0:
        arrays_of(made)[index][...] = grad_output.array
    else:
        d = dim % self.array.ndim - 1
        for array, g in zip(arrays_of(made), arrays_of(grad_output), strict=True):
            array[(*(slice(None),) * d, index, ...)] = g
    return made


@nested_kernel("native_layer_norm")
def layer_norm(op: OpDef, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if (weight is None or bias is None) and not is_jagged(input):
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    results = [compute(op, [new_tensor(array), normalized_shape, weight, bias, eps]) for array in arrays_of(input)]
    return tuple([join([result[nr] for result in results], input) for nr in range(3)])


@nested_kernel("native_layer_norm_backward")
def layer_norm_backward(op: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                        output_mask: Any) -> Any:
    nested = [arrays_of(t) for t in (grad_out, input, mean, rstd)]
    results = [compute(op, [new_tensor(g), new_tensor(x), normalized_shape, new_tensor(m), new_tensor(r), weight, bias,
                            output_mask]) for g, x, m, r in zip(*nested, strict=True)]
    totals = [None if results[0][nr] is None else new_tensor(np.add.reduce([result[nr].array for result in results]))
              for nr in (1, 2)]
    of_input = None if results[0][0] is None else join([result[0] for result in results], input)
    return (of_input, *totals)


@nested_kernel("clone")
def clone(op: OpDef, self: Any, memory_format: Any) -> Any:
    """A copy; one that is to be contiguous has no holes between its parts."""
    data = self._extra.sparse
    if data.ragged is None:
        return each_part(op, [self, memory_format])
    if data.ragged.lengths is None or getattr(memory_format, "name", "") != "contiguous_format":
        return at_once(op, [self, memory_format])
    offsets = np.cumsum([0, *data.ragged.counts()])
    return wrap_jagged(np.concatenate(data.arrays, data.axis), Ragged(new_tensor(offsets)), data.axis)


# ---- filled like another
@nested_kernel("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like")
def like(op: OpDef, self: Any, *rest: Any) -> Any:
    return join([compute(op, [new_tensor(array), *rest]) for array in arrays_of(self)], self)


hooks.sparse = run
