"""SchemaCheckMode: sees to it that ops write to and share the memory that their schemas say, and no other."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.library.schema_info import SchemaArgType, SchemaArgument, SchemaInfo, overlap
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils._pytree import tree_leaves, tree_map_only

__all__ = ["SchemaCheckMode"]


class SchemaCheckMode(TorchDispatchMode):
    """A scope in which every op is checked against its schema; `ops` has their names.

    >>> with SchemaCheckMode() as mode:
    ...     y = torch.ones(2).sin()
    >>> mode.ops
    ['aten::ones', 'aten::sin']
    """

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []

    def reset_cache(self) -> None:
        """Forget the ops that ran."""
        self.ops.clear()

    def display_ops(self) -> None:
        """Print the ops that ran."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema
        self.ops.append(schema.name)
        given = dict(zip([argument.name for argument in schema.arguments], args, strict=False))
        given.update(kwargs)
        before = {name: tree_map_only(torch.Tensor, kept, value) for name, value in given.items()}
        result = func(*args, **kwargs)
        info = SchemaInfo(schema)
        info.add_argument_values(given)
        several = isinstance(result, tuple) and len(schema.returns) > 1
        outputs = [tree_leaves(r) for r in result] if several else [tree_leaves(result)]
        if "unsafe" in schema.name:           # these share memory on purpose, and ask their callers not to write to it
            outputs = []
        for i, argument in enumerate(schema.arguments):
            if argument.name not in given:
                continue
            name = "input" if argument.name == "self" else argument.name
            leaves = tree_leaves(given[argument.name])
            here = SchemaArgument(SchemaArgType.input, i)
            for j, output in enumerate(outputs):
                if any([overlap(a, b) for a in leaves for b in output]) and j < len(schema.returns) and \
                        not info.may_contain_alias(SchemaArgument(SchemaArgType.output, j), here):
                    raise RuntimeError(f"Argument {name} is not defined to alias output but was aliasing")
            changed = [has_changed(a, b) for a, b in zip(tree_leaves(before[argument.name]), leaves, strict=True)]
            if any(changed) and not info.is_mutable(here):
                raise RuntimeError(f"Argument {name} is not defined as mutable but was mutated")
        for i, first in enumerate(outputs):
            for j in range(i + 1, len(outputs)):
                if any([overlap(a, b) for a in first for b in outputs[j]]) and not info.may_contain_alias(
                        SchemaArgument(SchemaArgType.output, i), SchemaArgument(SchemaArgType.output, j)):
                    raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")
        return result


class Kept:
    """A tensor as it was before an op."""

    def __init__(self, t: Any) -> None:
        self.plain = t.layout is torch.strided and not t.is_nested
        self.values = t.detach().clone()
        self.geometry = (t.size(), t.stride()) if self.plain else None
        self.memory = t.untyped_storage().data_ptr() if self.plain else 0


def kept(t: Any) -> Kept:
    return Kept(t)


def has_changed(before: Any, after: Any) -> bool:
    """Whether a tensor has other values, another geometry or other memory than before."""
    if not isinstance(before, Kept):
        return False
    if not before.plain:
        return False
    if before.geometry != (after.size(), after.stride()) or before.memory != after.untyped_storage().data_ptr():
        return True
    return not same_values(before.values, after.detach())


def same_values(a: Any, b: Any) -> bool:
    """Whether two tensors are equal, where nan equals nan."""
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    equal = a == b
    if a.is_floating_point():
        equal = equal | (a.isnan() & b.isnan())
    return bool(equal.all())
