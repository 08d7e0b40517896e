"""Checks one example as an unbatched op would: batching rules must not mistake the batch dimension for one of the example's.

NOTE [Examples are checked]
A batching rule runs an op on all examples at once, with one dimension more than an example has. A kernel that requires two
dimensions then accepts examples with only one. So an op runs once on the first example alone, for every combination of
shapes and `dim` arguments that it is called with; vmap raises the error of that run. Conversely, a rule that fails on a
valid example (an unbatched operand where the rule expects a batched one) falls back to the loop.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.kernels import compute_arrays
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import FLAG_META, Tensor, new_tensor

MOST = 512                       # combinations kept for each op

# For each op: the arguments that name dimensions, and the valid combinations.
known: dict[Any, tuple[tuple[int, ...], set[Any]]] = {}


def is_known(op: Any, args: Any) -> bool:
    """Whether an example with these shapes and dims has passed; records the combination if it is new."""
    found = known.get(op)
    if found is None:
        found = known[op] = dim_arguments(op), set()
    key = []
    for i in op.tensor_args:
        value = args[i]
        key.append(value.array.shape if isinstance(value, Tensor)
                   else tuple([t.array.shape if isinstance(t, Tensor) else None for t in value])
                   if isinstance(value, (list, tuple)) else None)
    for i in found[0]:
        value = args[i]
        key.append(tuple(value) if isinstance(value, (list, tuple)) else value)
    whole = tuple(key)
    combinations = found[1]
    if whole in combinations:
        return True
    if len(combinations) >= MOST:
        combinations.clear()
    combinations.add(whole)
    return False


def dim_arguments(op: OpDef) -> tuple[int, ...]:
    return tuple([i for i, p in enumerate(op.schema.params) if "dim" in p.name or p.name == "pad" or p.name.endswith("_shape")])


def run_example(op: Any, args: Any) -> None:
    """Run the kernel on the first example; nothing is recorded, and the result is not used."""
    if op.is_inplace:
        op = op.functional
        if op is None or op.is_inplace:
            return
        if not op._ready:
            op.prepare()
    if op.kernel is None or op.composite or len(op.schema.params) != len(args):
        return
    for i in op.tensor_args:
        for t in args[i] if isinstance(args[i], (list, tuple)) else (args[i],):
            if isinstance(t, Tensor) and t._flags & FLAG_META:
                return
    try:
        # Copies, since kernels such as batch_norm's write to their operands.
        compute_arrays(op, with_arrays(op, args, lambda array: np.array(array, order="C")))
    except (RuntimeError, ValueError):
        # An op like as_strided may need the memory around the example.
        compute_arrays(op, with_arrays(op, args, lambda array: array))


def with_arrays(op: OpDef, args: Any, change: Any) -> list[Any]:
    """The arguments with tensors replaced by plain ones on changed arrays."""
    def plain(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [plain(item) for item in value]
        return new_tensor(change(value.array)) if isinstance(value, Tensor) else value
    return [plain(value) if i in op.tensor_args else value for i, value in enumerate(args)]


def check_example(op: OpDef, args: Any) -> None:
    """Raise the error of a single example, unless its combination has passed."""
    if is_known(op, args):
        return
    try:
        run_example(op, args)
    except Exception:
        known.pop(op, None)
        raise
