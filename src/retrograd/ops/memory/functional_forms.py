"""The functional forms of ops that are declared in place: `copy`, `zero`, `uniform` and similar ops return a new tensor."""
from __future__ import annotations

from typing import Any

from retrograd.core import storage
from retrograd.core.opdef import OpDef, defop, find_packet
from retrograd.ops.create import random
from retrograd.ops.memory import copy, resize
from retrograd.ops.shared import families, geometry

NAMES = {"normal_": "normal_functional"}


def on_a_copy(kernel: Any, gaps: bool) -> Any:
    """The kernel of an in-place op applied to a copy of its target, which keeps its strides."""
    def copied(xp: Any, self: Any, *args: Any) -> Any:
        keeps_gaps = gaps and 0 not in self.strides
        made = geometry.new_beside(self, self.shape, storage.strides_of(self), self.dtype) if keeps_gaps else xp.array(self)
        made[...] = self
        values = kernel(xp, made, *args)
        if values is not made:
            made[...] = values
        return made
    return copied


def expanding(op: OpDef, args: Any, dims: Any, size: int) -> Any:
    """The batching rule for ops whose result has the shape of the first argument, which must be batched."""
    first = families.move_to_front(args[0], dims[0])
    if dims[0] is None:
        first = first.expand((size, *first.array.shape))
    return families.pointwise(op, [first, *args[1:]], [0, *dims[1:]], size)


def add_functional(op: OpDef, batch: Any, pattern: str | None = None, traits: tuple[str, ...] = ()) -> None:
    head, _, rest = op.schema.text.partition("(")
    name, _, overload = head.partition(".")
    name = NAMES.get(name, name.removesuffix("_"))
    text = f"{name}{'.' + overload if overload else ''}({rest}".replace("Tensor(a!)", "Tensor")
    node = "CopyBackward0" if name == "copy" else op.node_name
    known = find_packet(name)             # public under this name in other forms, which calls choose from
    listed = known is None or not any([row.variants for row in known.rows()])
    defop(text, kernel=on_a_copy(op.kernel, name == "copy"), listed=listed, vjp=op.vjp, jvp=op.jvp, batch=batch, node=node,
          variants="", out=False, real_only=name == "uniform", pattern=pattern, traits=traits)


add_functional(copy.copy_, expanding, "moves", ("any_device",))
add_functional(resize.zero_, expanding, "constant")
for in_place in (*random.FILLS, random.bernoulli_tensor_):
    add_functional(in_place, in_place.batch)
