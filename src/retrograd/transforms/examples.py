"""One example checked as an op would check it alone: batching rules must not take the batch dimension for one of the example's.

NOTE [Examples are checked]
A batching rule runs an op on all examples at once, with a dimension more than an example has. A kernel that asks for two
dimensions is content then, although an example has only one. So an op runs once on the first example by itself, for every
combination of shapes and `dim` arguments that it is called with; what that raises, vmap raises. The other way round, a rule
that fails although the example is right (an operand that is not batched where the rule expects one) gives way to the loop.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from retrograd.core.kernels import compute_arrays
from retrograd.core.tensor import FLAG_META, Tensor, new_tensor

MOST = 512                       # combinations kept for each op

# For each op: which arguments name dimensions, and the combinations that are right.
known: dict[Any, tuple[tuple[int, ...], set[Any]]] = {}


def is_known(op: Any, args: Any) -> bool:
    """Whether an example with these shapes and dims has passed; otherwise it is noted that it has."""
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


def dim_arguments(op: Any) -> tuple[int, ...]:
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
    plain = list(args)
    for i in op.tensor_args:
        value = args[i]
        if isinstance(value, (list, tuple)):
            if any([isinstance(t, Tensor) and t._flags & FLAG_META for t in value]):
                return
            plain[i] = [new_tensor(t.array) if isinstance(t, Tensor) else t for t in value]
        elif isinstance(value, Tensor):
            if value._flags & FLAG_META:
                return
            plain[i] = new_tensor(value.array)
    try:
        compute_arrays(op, plain)
    except (RuntimeError, ValueError):
        # How the examples lie in memory may be wrong for an example alone, not for all; and a kernel that writes to an
        # operand, as batch_norm does to its statistics, gets one of its own.
        compute_arrays(op, [contiguous(value) for value in plain])


def contiguous(value: Any) -> Any:
    if isinstance(value, list):
        return [contiguous(item) for item in value]
    return new_tensor(np.array(value.array, order="C")) if isinstance(value, Tensor) else value


def check_example(op: Any, args: Any) -> None:
    """Raise what an example alone would raise, unless one of its kind has passed."""
    if is_known(op, args):
        return
    try:
        run_example(op, args)
    except Exception:
        known.pop(op, None)
        raise
