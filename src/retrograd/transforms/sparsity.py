"""Sparsity patterns: a level that carries, with every value, a boolean matrix of the inputs that it depends on.

NOTE [Patterns]
The pattern of a tensor has a row for each of its elements and a column for each element of the inputs. Rules go by the
kind of op: elementwise, moving elements, sums over dimensions, products. To trace the movement of elements, an op is run
again on their indices (from 1; 0 marks elements without a source). For an op without a rule every output depends on all
inputs: a pattern may be too large, never too small. It holds at the point where it was taken: an `if` on a value, `where`
or `sort` may choose differently elsewhere.

An op's `pattern` column selects its rule; views and elementwise ops need none:
"constant"      the result depends on no operand
"first"         the result depends on the first operand, elementwise
"elements"      elementwise with broadcasting
"moves"         elements change position
"choices"       positions depend on values and are the second result; ("choices", n): flat in the last n dimensions
"dims"          all elements along the op's dimensions; ("last", n): along the last n, or as many as argument n has items
("product", i, j)    a matrix product of the operands i and j
("scatter", i, reader, arguments[, shape])    the elements of operand i are added where the op `reader` would read them, given
                `arguments`, to the first operand or to zeros whose shape is argument `shape`
"convolution"   the windows of a convolution
Without one, a batching rule with the attribute `core_dims` means ("last", core_dims).
"""
from __future__ import annotations

import contextlib
from types import ModuleType
from typing import Any

import numpy as np

from retrograd.core import forward
from retrograd.core.dispatch import compute
from retrograd.core.opdef import OpDef, find_packet
from retrograd.core.tensor import FLAG_WRAPPER, Tensor, new_tensor
from retrograd.transforms.carrying import Carrying
from retrograd.transforms.functionalize import run_functional
from retrograd.transforms.lifted import lift
from retrograd.transforms.trees import flatten


def sparse_arrays() -> ModuleType:
    """SciPy's sparse arrays, which patterns and Jacobians are made of."""
    try:
        import scipy.sparse
    except ImportError as missing:
        raise ImportError("Sparse Jacobians and their patterns are sparse arrays of SciPy, which is not installed. "
                          "`pip install scipy` adds it.") from missing
    found: ModuleType = scipy.sparse
    return found


def trace(func: Any, args: Any, inputs: list[Any], replace: Any) -> tuple[list[Any], Any, list[Any]]:
    """Run `func` on `inputs`: its outputs, their structure, and their patterns (None if empty)."""
    sparse = sparse_arrays()
    for t in inputs:
        if not isinstance(t, Tensor):
            raise RuntimeError(f"A sparsity pattern is that of a function of Tensors, got {type(t)}")
        if t._flags & FLAG_WRAPPER:
            raise RuntimeError("A sparsity pattern is made of numbers, which tensors inside of a transform (vmap, grad, jvp) "
                               "do not have. Find the pattern before, and pass its coloring to sparse_jacobian.")
    sizes = [t.array.size for t in inputs]
    total = sum(sizes)
    everything = sparse.eye_array(total, dtype=bool, format="csr")
    level = Sparsity(total, sparse)
    with level.started():
        lifted, start = [], 0
        for t, size in zip(inputs, sizes, strict=True):
            plain = new_tensor(t.array)
            plain._flags = t._flags
            lifted.append(lift(plain, level, everything[start:start + size] if len(sizes) > 1 else everything))
            start += size
        output = run_functional(func, replace(lifted), {})
        outputs, spec = flatten(output)
        patterns = [level.carried_by(out) for out in outputs]
        values = [level.unwrap(out) for out in outputs]
    return values, spec, patterns


class Sparsity(Carrying):
    """Carries the pattern of every value that depends on the inputs."""

    def __init__(self, columns: int, sparse: ModuleType) -> None:
        self.columns = columns
        self.sparse = sparse

    def carry(self, op: OpDef, values: Any, carried: Any, result: Any) -> Any:
        found = None
        # the rule does not support this index or shape: treat the op as one without a rule
        with contextlib.suppress(IndexError, KeyError, RuntimeError, TypeError, ValueError):
            found = self.by_rule(op, values, carried, result)
        outputs = list(result) if op.multiple else [result]
        if found is None or any([isinstance(r, Tensor) and p is not None and p.shape[0] != r.array.size
                                 for p, r in zip(found, outputs, strict=True)]):
            found = self.of_everything(carried, outputs)
        return found if op.multiple else found[0]

    def by_rule(self, op: OpDef, values: Any, carried: Any, result: Any) -> Any:
        kind, *details = op.pattern if isinstance(op.pattern, tuple) else (op.pattern,)
        outputs = list(result) if op.multiple else [result]
        if kind == "constant":
            return [None] * len(outputs)
        if op.elementwise or kind == "elements":
            return [self.of_elements(values, carried, r) for r in outputs]
        if kind == "first":
            return [carried[0]]
        if op.is_view or kind == "moves":
            return self.of_moves(op, values, carried, outputs)
        if kind == "choices":
            return self.of_choices(op, values, carried, result, *details)
        if kind == "dims":
            return self.along_dims(dims_of(op, values), carried, values, outputs)
        if kind == "product":
            return [self.of_product(values, carried, result, *details)]
        if kind == "scatter":
            return self.of_scatter(op, values, carried, outputs, *details)
        if kind == "convolution":
            return self.of_convolution(values, carried, result)
        inner = core_dims(op, values, details[0] if kind == "last" else getattr(op.batch, "core_dims", None))
        if inner is not None and [i for i, one in enumerate(carried) if one is not None] == [0]:
            rank = values[0].array.ndim
            if not any([isinstance(r, Tensor) and r.array.ndim > rank for r in outputs]):
                return self.along_dims(tuple(range(rank - inner, rank)), carried, values, outputs)
        return None

    # ---- sums of patterns
    def union(self, a: Any, b: Any) -> Any:
        return b if a is None else a if b is None or a is b else a + b

    def stacked(self, patterns: list[Any]) -> Any:
        return self.sparse.vstack(patterns, format="csr")

    def empty(self, rows: int) -> Any:
        return self.sparse.csr_array((rows, self.columns), dtype=bool)

    def grouped(self, pattern: Any, groups: Any, count: int) -> Any:
        """The union of the rows of each group; `groups` is the group of each row."""
        size = groups.size
        into = self.sparse.csr_array((np.ones(size, bool), (groups, np.arange(size))), shape=(count, size))
        return into @ pattern

    def of_everything(self, carried: Any, outputs: list[Any]) -> list[Any]:
        """Every output depends on all inputs."""
        total: Any = None
        for pattern in every(carried):
            total = self.union(total, self.grouped(pattern, np.zeros(pattern.shape[0], np.int64), 1))
        return [None if not isinstance(r, Tensor) else total[np.zeros(r.array.size, np.int64)] for r in outputs]

    # ---- by kind of op
    def of_elements(self, values: Any, carried: Any, result: Any) -> Any:
        if not isinstance(result, Tensor):
            return None
        shape = result.array.shape
        total = None
        for value, pattern in zip(values, carried, strict=True):
            if pattern is not None:
                if value.array.shape != shape:
                    numbers = np.arange(value.array.size).reshape(value.array.shape)
                    pattern = pattern[np.broadcast_to(numbers, shape).ravel()]
                total = self.union(total, pattern)
        return total

    def of_moves(self, op: Any, values: Any, carried: Any, outputs: list[Any]) -> Any:
        """Ops whose output elements each have one source, found by running the op on element indices."""
        patterns = [self.empty(1)]
        given = list(values)
        start = 1
        for i in op.inputs:
            value, one = values[i], carried[i]
            if isinstance(value, (list, tuple)):
                numbered = []
                for k, item in enumerate(value):
                    pattern = None if one is None else one[k]
                    numbered.append(numbers_like(item, start, pattern is not None))
                    if pattern is not None:
                        patterns.append(pattern)
                        start += item.array.size
                given[i] = numbered
            elif isinstance(value, Tensor):
                given[i] = numbers_like(value, start, one is not None)
                if one is not None:
                    patterns.append(one)
                    start += value.array.size
        for i, parameter in enumerate(op.schema.params):
            if parameter.name == "value" and i not in op.tensor_args:
                given[i] = 0
        moved = compute(op, given)
        pattern = self.stacked(patterns)
        return [pattern[flat_array(m)] for m in (moved if op.multiple else [moved])]

    def of_choices(self, op: OpDef, values: Any, carried: Any, result: Any, inner: int = 0) -> Any:
        """Ops that select elements and return their indices, which are flat in the last `inner` dimensions if given."""
        chosen, places = result[0].array, result[1].array
        array = values[0].array
        numbers = np.arange(array.size).reshape(array.shape)
        if inner:
            outer = array.shape[:array.ndim - inner]
            found = np.take_along_axis(numbers.reshape((*outer, -1)), places.reshape((*outer, -1)), -1)
        else:
            (dim,) = dims_of(op, values) if array.ndim else (0,)
            if array.ndim == 0:
                found = np.zeros(chosen.size, np.int64)
            else:
                places = places if places.ndim == array.ndim else np.expand_dims(places, dim)
                found = np.take_along_axis(numbers, places, dim)
        return [carried[0][found.ravel()], *[None] * (len(result) - 1)]

    def along_dims(self, dims: Any, carried: Any, values: Any, outputs: list[Any]) -> Any:
        """Every output depends on all elements along `dims` of the inputs, which have one shape."""
        total: Any = None
        count = 0
        for value, pattern in zip(values, carried, strict=True):
            if pattern is not None:
                groups, count = groups_along(value.array.shape, dims)
                total = self.union(total, self.grouped(pattern, groups, count))
        made: list[Any] = []
        for r in outputs:
            if not isinstance(r, Tensor):
                made.append(None)
            elif r.array.size == count:
                made.append(total)
            else:
                groups, found = groups_along(r.array.shape, dims)
                if found != count:
                    return None
                made.append(total[groups])
        return made

    def of_product(self, values: Any, carried: Any, result: Any, first: int, second: int) -> Any:
        """Matrix products, optionally with an addend; zeros of a constant factor are zeros of the pattern."""
        a, b = values[first].array, values[second].array
        left, right = carried[first], carried[second]
        # a and b as stacks of matrices
        vector_a, vector_b = a.ndim == 1, b.ndim == 1
        a = a[None, None] if vector_a else a.reshape((-1, *a.shape[-2:]))
        b = b[None, :, None] if vector_b else b.reshape((-1, *b.shape[-2:]))
        size, rows, inner = a.shape
        columns = b.shape[2]
        total: Any = None
        if left is not None:
            if right is None:
                same = self.sparse.eye_array(rows, dtype=bool)
                blocks = [self.sparse.kron(same, self.sparse.csr_array((m != 0).T)) for m in b]
                total = self.sparse.block_diag(blocks, format="csr") @ left
            else:
                whole = self.grouped(left, np.repeat(np.arange(size * rows), inner), size * rows)
                total = whole[np.repeat(np.arange(size * rows), columns)]
        if right is not None:
            if left is None:
                same = self.sparse.eye_array(columns, dtype=bool)
                blocks = [self.sparse.kron(self.sparse.csr_array(m != 0), same) for m in a]
                part = self.sparse.block_diag(blocks, format="csr") @ right
            else:
                number = np.arange(size * columns).reshape(size, 1, columns)
                whole = self.grouped(right, np.broadcast_to(number, (size, inner, columns)).ravel(), size * columns)
                part = whole[np.broadcast_to(number, (size, rows, columns)).ravel()]
            total = self.union(total, part)
        if first and carried[0] is not None:
            total = self.union(total, self.of_elements(values[:1], carried[:1], result))
        return total

    def of_scatter(self, op: OpDef, values: Any, carried: Any, outputs: list[Any], place: int, reader: str,
                   arguments: tuple[int, ...], target: int = -1) -> Any:
        """Ops that add elements at indices, to the first operand or to zeros whose shape is argument `target`; the reading
        op gives the positions."""
        if "accumulate" in [p.name for p in op.schema.params] and not values[3]:
            return self.of_moves(op, values, carried, outputs)
        shape, own = (values[0].array.shape, carried[0]) if target < 0 else (values[target], None)
        rest = [values[i] for i in arguments]
        total = int(np.prod(shape, dtype=np.int64))
        numbers = new_tensor(np.arange(total).reshape(shape))
        packet = find_packet(reader)
        assert packet is not None
        read = packet.overloads_[0]
        if not read._ready:
            read.prepare()
        defaults = [p.default for p in read.schema.params[1 + len(rest):]]
        went = compute(read, [numbers, *rest, *defaults]).array
        added = carried[place]
        if added is not None:
            own_numbers = np.arange(values[place].array.size).reshape(values[place].array.shape)
            source = own_numbers if own_numbers.size == went.size else np.broadcast_to(own_numbers, went.shape)
            shape = total, own_numbers.size
            into = self.sparse.csr_array((np.ones(went.size, bool), (went.ravel(), source.ravel())), shape=shape)
            own = self.union(own, into @ added)
        return [own]

    def of_convolution(self, values: Any, carried: Any, result: Any) -> Any:
        """Every output depends on a window of the input, on the weights of its channel and on its bias."""
        image, weight, _, stride, padding, dilation, transposed, _, groups = values
        if transposed or image.array.ndim != result.array.ndim:
            return None
        shape, out_shape, kernel = image.array.shape, result.array.shape, weight.array.shape[2:]
        count, channels = out_shape[:2]
        total = None
        if carried[0] is not None:
            numbers = np.arange(image.array.size).reshape(shape[0], groups, shape[1] // groups, *shape[2:])
            padded = np.pad(numbers + 1, [(0, 0)] * 3 + [(p, p) for p in padding])
            axes = tuple(range(3, 3 + len(kernel)))
            spans = [d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True)]
            windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=axes)  # type: ignore[call-overload]
            windows = windows[(slice(None),) * 3 + tuple([slice(None, None, s) for s in stride])
                              + tuple([slice(None, None, d) for d in dilation])]
            # (batch, groups, channels in, positions out..., kernel...) -> a row of inputs for each (batch, group, position
            # out)
            last = tuple(range(3, 3 + len(kernel)))
            order = (0, 1, *last, 2, *range(3 + len(kernel), windows.ndim))
            inner = shape[1] // groups * int(np.prod(kernel, dtype=np.int64))
            seen = windows.transpose(order).reshape(-1, inner)
            rows, columns = np.nonzero(seen)
            gather = self.sparse.csr_array((np.ones(rows.size, bool), (rows, seen[rows, columns] - 1)),
                                           shape=(len(seen), image.array.size))
            own = gather @ carried[0]
            places = int(np.prod(out_shape[2:], dtype=np.int64))
            number = np.arange(len(seen)).reshape(count, groups, 1, places)
            total = own[np.broadcast_to(number, (count, groups, channels // groups, places)).ravel()]
        channel = np.broadcast_to(np.arange(channels).reshape((1, channels) + (1,) * len(kernel)), out_shape).ravel()
        if carried[1] is not None:
            each = weight.array.size // channels
            own = self.grouped(carried[1], np.repeat(np.arange(channels), each), channels)
            total = self.union(total, own[channel])
        return [total if carried[2] is None else self.union(total, carried[2][channel])]

    def of_function(self, cls: Any, spec: Any, out_spec: Any, values: Any, carried: Any, outputs: Any) -> Any:
        """The outputs of a custom Function depend on all its inputs."""
        return self.of_everything(carried, outputs)


# ---- element indices
def every(carried: Any) -> list[Any]:
    return [p for one in carried for p in (one if isinstance(one, list) else [one]) if p is not None]


def numbers_like(value: Any, start: int, counted: bool) -> Any:
    """A tensor of the shape and layout of `value` holding its element indices, or zeros."""
    array = value.array
    numbers = np.arange(start, start + array.size).reshape(array.shape) if counted else np.zeros(array.shape, np.int64)
    if array.flags.c_contiguous:
        return new_tensor(numbers)
    plain = new_tensor(array)
    made = forward.zeros_in_layout(new_tensor(numbers), plain)
    made.array[...] = numbers
    return made


def flat_array(t: Any) -> Any:
    return t.array.ravel()


def dims_of(op: OpDef, values: Any) -> tuple[int, ...]:
    """The dimensions of an op's argument `dim`; all of them if it is None or empty."""
    rank = values[op.tensor_args[0]].array.ndim
    for parameter, value in zip(op.schema.params, values, strict=True):
        if parameter.name == "dim" and value is not None:
            dims = value if isinstance(value, (list, tuple)) else (value,)
            if len(dims):
                return tuple([d % max(rank, 1) for d in dims])
    return tuple(range(rank))


def groups_along(shape: tuple[int, ...], dims: Any) -> tuple[Any, int]:
    """The group of each element, where elements along `dims` form one group; and the number of groups."""
    kept = tuple([1 if i in dims else n for i, n in enumerate(shape)])
    count = int(np.prod(kept, dtype=np.int64))
    return np.broadcast_to(np.arange(count).reshape(kept), shape).ravel(), count


def core_dims(op: OpDef, values: Any, given: int | str | None) -> int | None:
    """The number of trailing dimensions that an op mixes: `given`, or the length of the argument of that name."""
    return len(values[[p.name for p in op.schema.params].index(given)]) if isinstance(given, str) else given
