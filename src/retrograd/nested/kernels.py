"""The kernels that ops have for nested tensors; elementwise ops run on every part, by their ordinary kernels."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.core.dispatch import METHODS, compute
from retrograd.core.state import tls
from retrograd.core.tensor import Tensor, new_tensor
from retrograd.nested.parts import arrays_of, is_nested, pack, same_sizes, wrap_parts
from retrograd.ops.sparse.table import missing, tensors_among

KERNELS: dict[str, Any] = {}          # "add.Tensor" -> function of (op, *args), below autograd


def nested_kernel(*names: str) -> Callable[[Any], Any]:
    """Register a kernel for operands of which one is a nested tensor, or results that are."""
    def register(kernel: Any) -> Any:
        for name in names:
            KERNELS[name if "." in name else name + ".default"] = kernel
        return kernel
    return register


others = METHODS["__sparse__"]


def run(op: Any, args: Any) -> Any:
    """Run an op that has a nested operand; those that have none are sparse."""
    nested = any([is_nested(t) for t in tensors_among(args)])
    kernel = KERNELS.get(f"{op.name}.{op.overload}")
    if kernel is not None and (nested or op.name.startswith("_nested_")):
        return kernel(op, *args)
    if not nested:
        return others(op, args)
    base = op.functional if op.is_inplace and op.functional is not None else op
    if base.elementwise or getattr(base.batch, "elementwise", False) or op.name in WRITES:
        return each_part(op, args)
    raise missing(op, args, "NestedTensorCPU")


WRITES = frozenset(("fill_", "zero_", "copy_", "clone", "_to_copy", "native_dropout", "bernoulli_", "normal_", "uniform_"))


def each_part(op: Any, args: Any) -> Any:
    """Run an elementwise op on one part after the other."""
    check_operands(op, args)
    count = next(len(arrays_of(t)) for t in args if is_nested(t))
    results = [compute(op, [new_tensor(arrays_of(a)[i]) if is_nested(a) else a for a in args]) for i in range(count)]
    if op.is_inplace:
        return args[0]
    rank = next(t._extra.sparse.rank for t in args if is_nested(t))
    if not op.multiple:
        return join(results, rank, args)
    return tuple([join([result[nr] for result in results], rank, args) for nr in range(len(op.schema.returns))])


def join(results: list[Any], rank: int, args: Any) -> Any:
    """One nested tensor of the results for each part."""
    dtype = results[0].array.dtype if results else next(t for t in args if is_nested(t)).array.dtype
    return pack([result.array for result in results], dtype, rank)


def check_operands(op: Any, args: Any) -> None:
    """Operands must be nested alike; only numbers and tensors without dimensions are spread over all parts."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    if len(tensors) < 2:
        return
    name = op.name.removesuffix("_")
    a, b = tensors[:2]
    for t in (a, b):
        if not is_nested(t) and t.array.ndim:
            first, second = ("non-nested", "nested") if t is a else ("nested", "non-nested")
            raise RuntimeError(f"Expected both self and other to be nested, but got a {first} self and {second} other. Only "
                               "numbers and tensors without dimensions may stand beside a nested tensor.")
    nested = [t for t in tensors if is_nested(t)]
    # formulas spread reduced gradients over the parts, users do not
    if tls.task is None and not all([same_sizes(nested[0], t) for t in nested[1:]]):
        raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")


# ---- making nested tensors, and taking them apart
@nested_kernel("_nested_tensor_from_tensor_list")
def from_list(op: Any, list: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Any:
    for i, t in enumerate(list):
        if t.array.ndim != list[0].array.ndim:
            raise RuntimeError("All Tensors given to nested_tensor must have the same dimension. Found dimension "
                               f"{t.array.ndim} for Tensor at index {i} and dimension {list[0].array.ndim} for Tensor at "
                               "index 0.")
    chosen = dtype.numpy if dtype is not None else list[0].array.dtype if list else np.dtype(np.float32)
    return pack([resolved(t) for t in list], chosen)


def resolved(t: Any) -> Any:
    return METHODS["resolve_neg"](METHODS["resolve_conj"](t.detach())).array


@nested_kernel("_nested_from_padded_and_nested_example")
def from_padded(op: Any, padded: Any, nt_example: Any) -> Any:
    arrays = [padded.array[(i, *[slice(n) for n in part.shape])] for i, part in enumerate(arrays_of(nt_example))]
    return pack(arrays, padded.array.dtype, nt_example._extra.sparse.rank)


@nested_kernel("to_padded_tensor")
def to_padded(op: Any, self: Any, padding: float, output_size: Any) -> Any:
    shape = self.array.shape
    if output_size is not None:
        if len(output_size) != len(shape):
            raise RuntimeError("Length of output_size does not match NestedTensor dims. Broadcasting is not supported.")
        if any([n < m for n, m in zip(output_size, shape, strict=True)]):
            raise RuntimeError("Value in output_size is less than NestedTensor padded size. Truncation is not supported.")
        shape = tuple(output_size)
    made: Any = np.full(shape, padding, self.array.dtype)
    for i, part in enumerate(arrays_of(self)):
        made[(i, *[slice(n) for n in part.shape])] = part
    return new_tensor(made)


@nested_kernel("unbind.int")
def unbind(op: Any, self: Any, dim: int) -> Any:
    if dim not in (0, -self.array.ndim):
        raise RuntimeError(f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead.")
    return [new_tensor(array) for array in arrays_of(self)]


@nested_kernel("values")
def values(op: Any, self: Any) -> Any:
    if not self._extra.sparse.is_contiguous:
        raise RuntimeError("NestedTensor must be contiguous to get values.")
    return new_tensor(self._extra.sparse.memory)


@nested_kernel("_nested_with_values")
def with_values(op: Any, values: Any, nt_example: Any) -> Any:
    arrays, at = [], 0
    for part in arrays_of(nt_example):
        arrays.append(values.array[at:at + part.size].reshape(part.shape))
        at += part.size
    return pack(arrays, values.array.dtype, nt_example._extra.sparse.rank)


# ---- views and shapes
def part_dim(self: Any, dim: int, what: str) -> int:
    """A dimension of the nested tensor as one of its parts; the first one has no counterpart."""
    rank = self.array.ndim
    if not -rank <= dim < rank:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})")
    if dim % rank == 0:
        raise RuntimeError(what)
    return dim % rank - 1


def viewed(self: Any, change: Callable[[Any], Any], rank: int) -> Any:
    """The nested tensor of views of the parts."""
    return wrap_parts(self._extra.sparse.memory, [change(array) for array in arrays_of(self)], rank)


@nested_kernel("transpose.int")
def transpose(op: Any, self: Any, dim0: int, dim1: int) -> Any:
    a = part_dim(self, dim0, "Nested tensor dimension 0 cannot be transposed")
    b = part_dim(self, dim1, "Nested tensor dimension 0 cannot be transposed")
    return viewed(self, lambda array: array.swapaxes(a, b), self._extra.sparse.rank)


@nested_kernel("detach", "alias", "view_as")
def same(op: Any, self: Any, *rest: Any) -> Any:
    return viewed(self, lambda array: array.view(), self._extra.sparse.rank)


@nested_kernel("select.int")
def select(op: Any, self: Any, dim: int, index: int) -> Any:
    rank = self.array.ndim
    if dim % rank == 0:
        arrays = arrays_of(self)
        if not -len(arrays) <= index < len(arrays):
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {len(arrays)}")
        return new_tensor(arrays[index])
    d = part_dim(self, dim, "")
    for array in arrays_of(self):
        if not -array.shape[d] <= index < array.shape[d]:
            raise IndexError(f"index {index} is out of bounds for dimension {dim} with size {array.shape[d]}")
    return viewed(self, lambda array: array[(*(slice(None),) * d, index, ...)], self._extra.sparse.rank - 1)


@nested_kernel("unsqueeze")
def unsqueeze(op: Any, self: Any, dim: int) -> Any:
    rank = self.array.ndim + 1
    if dim % rank == 0:
        raise RuntimeError("unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you "
                           "need "
                           "this feature, please open an issue on github describing your use case.")
    return viewed(self, lambda array: np.expand_dims(array, dim % rank - 1), self._extra.sparse.rank + 1)


@nested_kernel("squeeze.dim")
def squeeze(op: Any, self: Any, dim: int) -> Any:
    d = part_dim(self, dim, "squeeze(): For nested tensors, squeezing dimension 0 is not supported at the moment if you need "
                            "this "
                            "feature, please open an issue on github describing your use case.")
    if any([array.shape[d] != 1 for array in arrays_of(self)]):
        return viewed(self, lambda array: array.view(), self._extra.sparse.rank)
    return viewed(self, lambda array: array.squeeze(d), self._extra.sparse.rank - 1)


@nested_kernel("view", "reshape")
def view(op: Any, self: Any, size: Any) -> Any:
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
            return pack([a.reshape(s) for a, s in zip(arrays, wanted, strict=True)], None, len(size) - 1)
        made.append(part)
    return wrap_parts(self._extra.sparse.memory, made, len(size) - 1)


@nested_kernel("chunk")
def chunk(op: Any, self: Any, chunks: int, dim: int) -> Any:
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


@nested_kernel("cat")
def cat(op: Any, tensors: Any, dim: int) -> Any:
    if not all([is_nested(t) for t in tensors]):
        raise RuntimeError("expected each tensor in given list to be nested")
    if dim % tensors[0].array.ndim:
        raise RuntimeError("cat(): For nested tensors, only dimension 0 can be joined")
    return pack([array for t in tensors for array in arrays_of(t)], tensors[0].array.dtype, tensors[0]._extra.sparse.rank)


# ---- products
def both_nested(op: Any, a: Any, b: Any) -> None:
    for t, (first, second) in ((a, ("non-nested", "nested")), (b, ("nested", "non-nested"))):
        if not is_nested(t):
            raise RuntimeError(f"Expected both to be nested, but got a {first} self and {second} other")


@nested_kernel("bmm", "matmul")
def multiply(op: Any, self: Any, other: Any) -> Any:
    both_nested(op, self, other)
    x, y = arrays_of(self), arrays_of(other)
    if op.name == "bmm" and (self.array.ndim != 3 or other.array.ndim != 3):
        which, rank = ("batch1", self.array.ndim) if self.array.ndim != 3 else ("batch2", other.array.ndim)
        raise RuntimeError(f"{which} must be a 3D tensor, got {rank}D")
    if self.array.ndim < 3 or other.array.ndim != self.array.ndim:
        raise RuntimeError(f"matmul: For nested tensors, only inputs with >= 3 dims and equal ranks are currently supported; "
                           "got "
                           f"{self.array.ndim} and {other.array.ndim}")
    if len(x) != len(y):
        raise RuntimeError(f"{op.name}: Expected size for the 1st dimension of 2nd input tensor to be: {len(x)} but got: "
                           f"{len(y)}.")
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        if a.shape[-1] != b.shape[-2]:
            raise RuntimeError(f"{i}-th nested matrices in batch cannot be multiplied ({a.shape[-2]}x{a.shape[-1]} and "
                               f"{b.shape[-2]}x{b.shape[-1]})")
    return pack([np.matmul(a, b) for a, b in zip(x, y, strict=True)], self.array.dtype, self._extra.sparse.rank)


@nested_kernel("linear")
def linear(op: Any, input: Any, weight: Any, bias: Any) -> Any:
    if is_nested(weight) or not is_nested(input):
        raise RuntimeError("Linear requires a nested input and a weight that is not nested")
    made = [np.matmul(array, weight.array.T) for array in arrays_of(input)]
    return pack([array if bias is None else array + bias.array for array in made], input.array.dtype, input._extra.sparse.rank)


# ---- along a dimension
def along(op: Any, args: Any, place: int, what: str) -> list[Any]:
    """The results of `op` on each part, its argument at `place` being a dimension."""
    nested = next(a for a in args if is_nested(a))
    dim = part_dim(nested, args[place], what)
    return [compute(op, [new_tensor(arrays_of(a)[i]) if is_nested(a) else dim if k == place else a for k, a in enumerate(args)])
            for i in range(len(arrays_of(nested)))]


@nested_kernel("_softmax")
def softmax(op: Any, self: Any, dim: int, half_to_float: bool) -> Any:
    results = along(op, [self, dim, half_to_float], 1, "Cannot apply softmax across nested dimension 0")
    return join(results, self._extra.sparse.rank, [self])


@nested_kernel("_softmax_backward_data")
def softmax_backward(op: Any, grad_output: Any, output: Any, dim: int, input_dtype: Any) -> Any:
    return join(along(op, [grad_output, output, dim, input_dtype], 2, ""), output._extra.sparse.rank, [output])


@nested_kernel("sum.dim_IntList")
def sum_last(op: Any, self: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    rank = self.array.ndim
    if dim is None or len(dim) != 1:
        raise RuntimeError("NestedTensor only allows reduction of a single dimension for now.")
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    if dim[0] % rank != rank - 1:
        raise RuntimeError(f"NestedTensor can only be reduced across the last dimension for now got dimension {dim[0]} "
                           "instead.")
    plain = getattr(op.packet, op.overload)          # the twin of formulas.py has no kernel for the parts
    made = [compute(plain, [new_tensor(array), (-1,), True, dtype]) for array in arrays_of(self)]
    return join(made, self._extra.sparse.rank, [self])


@nested_kernel("_nested_sum_backward")
def spread_sum(op: Any, grad: Any, self: Any, dim: Any, keepdim: bool) -> Any:
    arrays = [np.broadcast_to(g, array.shape) for g, array in zip(arrays_of(grad), arrays_of(self), strict=True)]
    return pack(arrays, grad.array.dtype, self._extra.sparse.rank)


@nested_kernel("_nested_select_backward")
def put_part(op: Any, grad_output: Any, self: Any, dim: int, index: int) -> Any:
    made = pack([np.zeros(array.shape, grad_output.array.dtype) for array in arrays_of(self)], grad_output.array.dtype,
                self._extra.sparse.rank)
    if dim % self.array.ndim == 0:
        arrays_of(made)[index][...] = grad_output.array
    else:
        d = dim % self.array.ndim - 1
        for array, g in zip(arrays_of(made), arrays_of(grad_output), strict=True):
            array[(*(slice(None),) * d, index, ...)] = g
    return made


@nested_kernel("native_layer_norm")
def layer_norm(op: Any, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    results = [compute(op, [new_tensor(array), normalized_shape, weight, bias, eps]) for array in arrays_of(input)]
    return tuple([join([result[nr] for result in results], input._extra.sparse.rank, [input]) for nr in range(3)])


@nested_kernel("native_layer_norm_backward")
def layer_norm_backward(op: Any, grad_out: Any, input: Any, normalized_shape: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                        output_mask: Any) -> Any:
    nested = [arrays_of(t) for t in (grad_out, input, mean, rstd)]
    results = [compute(op, [new_tensor(g), new_tensor(x), normalized_shape, new_tensor(m), new_tensor(r), weight, bias,
                            output_mask]) for g, x, m, r in zip(*nested, strict=True)]
    totals = [None if results[0][nr] is None else new_tensor(np.add.reduce([result[nr].array for result in results]))
              for nr in (1, 2)]
    of_input = None if results[0][0] is None else join([result[0] for result in results], input._extra.sparse.rank, [input])
    return (of_input, *totals)


# ---- filled like another
@nested_kernel("zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like")
def like(op: Any, self: Any, *rest: Any) -> Any:
    rank = self._extra.sparse.rank
    results = [compute(op, [new_tensor(array), *rest]) for array in arrays_of(self)]
    return join(results, rank, [self])


METHODS["__sparse__"] = run
