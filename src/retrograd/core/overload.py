"""The attributes and methods of PyTorch's `OpOverload` and `OpOverloadPacket`, for the rows of the op tables."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd.core.opdef import OpDef, Packet
from retrograd.core.tags import Tag
from retrograd.core.tensor import put_into


class Derived:
    """An attribute derived from the row unless the row sets it."""

    def __init__(self, derive: Any) -> None:
        self.derive = derive

    def __get__(self, op: Any, owner: Any = None) -> Any:
        return self if op is None else self.derive(op)


TAGS = {"reads_values": Tag.data_dependent_output, "inplace_view": Tag.inplace_view,
        "view_copy": Tag.view_copy}


def tags_of(op: OpDef) -> list[Any]:
    """The PyTorch tags of an op that can be derived from its row."""
    ready(op)
    found = []
    if op.is_inplace:
        found.append(Tag.inplace)
    if op.is_out:
        found.append(Tag.out)
    if op.random or "random" in op.traits:
        found.append(Tag.nondeterministic_seeded)
    if (op.functional if op.is_out else op).meta == "values":
        found.append(Tag.dynamic_output_shape)
    found.extend([tag for trait, tag in TAGS.items() if trait in op.traits])
    if op.elementwise:
        found.append(Tag.pointwise)
    return [*found, Tag.pt2_compliant_tag]


def ready(op: OpDef) -> Any:
    if not op._ready:
        op.prepare()
    return op


def can_decompose(op: OpDef) -> bool:
    """Whether the op is composite."""
    return bool(op.composite)


def decompose(op: OpDef, *args: Any, **kwargs: Any) -> Any:
    """Run the op as its component ops; NotImplemented if it is not composite."""
    if not op.composite:
        return NotImplemented
    return op.kernel(*ready(op).schema.bind(args, kwargs))


def redispatch(op: OpDef, keyset: Any, *args: Any, **kwargs: Any) -> Any:
    """Run the op without the layers that are not in `keyset`."""
    return op(*args, **kwargs)


def has_kernel(op: OpDef, key: Any) -> bool:
    """Whether the op has a kernel of its own for a dispatch key."""
    name = key if isinstance(key, str) else key.name
    if op.composite:
        return name == "CompositeImplicitAutograd"
    return name in ("CPU", "Meta") or name == "Autograd" and op.differentiable


def has_any_kernel(op: OpDef, keys: Any) -> bool:
    """Whether the op has a kernel of its own for one of the dispatch keys."""
    return any([op.has_kernel_for_dispatch_key(key) for key in keys])  # type: ignore[attr-defined]  # set below


put_into(OpDef, {
    "_can_decompose": can_decompose,
    "_defined_in_python": Derived(lambda op: "::" in op.name),
    "_name": property(lambda op: op.name()),
    "_nondeterministic_seeded": Derived(lambda op: Tag.nondeterministic_seeded in op.tags),
    "_overloadpacket": property(lambda op: op.packet),
    "_tags": Derived(tags_of),
    "__qualname__": property(lambda op: op.name()),
    "decompose": decompose,
    "has_kernel_for_any_dispatch_key": has_any_kernel,
    "has_kernel_for_dispatch_key": has_kernel,
    "op": property(lambda op: op.__call__),
    "redispatch": redispatch,
    "tags": Derived(tags_of),
})


# ---- all overloads of one name
def overload_names(packet: Any) -> Iterator[str]:
    return iter(packet.overloads())


def no_overload(packet: Packet, name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"The underlying op of '{packet}' has no overload name '{name}'")


MEMBERS: dict[str, Any] = {
    "__getattr__": no_overload,
    "__iter__": overload_names,
    "_qualified_op_name": Derived(lambda packet: f"aten::{packet.name}"),
    "_schemas": property(lambda packet: {"" if op.overload == "default" else op.overload: op._schema
                                         for op in packet.rows()}),
    "op": property(lambda packet: packet.__call__),
    "op_overloads": property(lambda packet: packet.rows()),
}
for name, member in MEMBERS.items():
    setattr(Packet, name, member)
