"""Random ops under vmap: forbidden, drawn once for all examples, or drawn for each."""
from __future__ import annotations

from typing import Any

from retrograd.core.dispatch import call
from retrograd.core.opdef import OpDef
from retrograd.core.tensor import Tensor
from retrograd.ops import late
from retrograd.ops.shared import families

LEGACY = ("vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
          "vmap as a workaround")
ERROR = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness "
         "flags on vmap or perform the randomness operation out of vmap")
SAME_BATCHED = ("Vmap does not currently support same randomness with a batched tensor input. Please file an issue with "
                "functorch")
OUT = ("vmap: We do not support calling out variants of random operations inside of vmap. Please use non-out variants as a "
       "workaround")
DIFFERENT_INPLACE = ("vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                     "randomness. If this is necessary for your usage, please file an issue with functorch.")


def run(vmap: Any, op: OpDef, args: Any) -> Any:
    """Run a random op according to the vmap's `randomness`."""
    if vmap.legacy:
        raise RuntimeError(LEGACY)
    if vmap.randomness == "error":
        raise RuntimeError(ERROR)
    if op.is_out:
        raise RuntimeError(OUT)
    values, dims = vmap.unwrap_arguments(op, args)
    batched = any([dim is not None for dim in dims])
    different = vmap.randomness == "different"
    if op.is_inplace:
        return run_inplace(vmap, op, args, values, dims, different)
    if op.name.endswith("_like") or op.name == "native_dropout":
        if not different:
            return call(op, [values[0] if dims[0] is None else an_example(values[0], dims[0]), *values[1:]])
        first = families.move_to_front(values[0], dims[0])
        if dims[0] is None:
            first = first.expand((vmap.size, *first.array.shape))
        result = call(op, [first, *values[1:]])
        return vmap.wrap_results(op, result, 0)
    if not different:
        if batched:
            raise RuntimeError(SAME_BATCHED)
        return call(op, values)
    if batched:
        return vmap.wrap_results(op, *vmap.apply_rule(op, values, dims))
    return run_different(vmap, op, values)


def an_example(value: Any, dim: int) -> Any:
    """A tensor with the shape of an example; there may be none."""
    shape = value.array.shape
    return value.select(dim, 0) if shape[dim] else value.new_empty(shape[:dim] + shape[dim:][1:])


def run_inplace(vmap: Any, op: OpDef, args: Any, values: Any, dims: Any, different: bool) -> Any:
    if dims[0] is None:
        if different:
            raise RuntimeError(DIFFERENT_INPLACE)
        if any([dim is not None for dim in dims]):
            raise RuntimeError(vmap.shared_target(op))
        return call(op, values)
    if different:
        return vmap.run_inplace(op, args, values, dims)
    if any([dim is not None for dim in dims[1:]]):
        raise RuntimeError(SAME_BATCHED)
    value = values[0]
    drawn = call(op, [late.empty_like(an_example(value, dims[0])), *values[1:]])
    value.copy_(drawn.unsqueeze(dims[0]).expand(value.array.shape))
    return args[0]


def run_different(vmap: Any, op: Any, values: Any) -> Any:
    """A separate draw for each example of an op with unbatched arguments: a longer shape, longer inputs, or one call each."""
    for i, parameter in enumerate(op.schema.params):
        if parameter.name == "size" and isinstance(values[i], (tuple, list)):
            longer = [*values[:i], (vmap.size, *values[i]), *values[i + 1:]]
            return vmap.wrap_results(op, call(op, longer), 0)
    if not any([isinstance(values[i], Tensor) for i in op.tensor_args]):
        drawn = [call(op, list(values)) for _ in range(vmap.size)]
        return vmap.wrap_results(op, late.stack(drawn), 0)
    dims = [0 if i in op.tensor_args and isinstance(value, Tensor) else None for i, value in enumerate(values)]
    longer = [value if dim is None else value.expand((vmap.size, *value.array.shape))
              for value, dim in zip(values, dims, strict=True)]
    return vmap.wrap_results(op, *vmap.apply_rule(op, longer, dims))
