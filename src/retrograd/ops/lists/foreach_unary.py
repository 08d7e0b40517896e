"""Functions of one tensor over lists of tensors: `_foreach_sin` and the other rows that say `foreach` (see foreach.py)."""
from __future__ import annotations

from typing import Any

from retrograd.core.lists import map_each
from retrograd.core.opdef import OPS, OpDef
from retrograd.ops.elementwise import arithmetic, binary, unary  # noqa: F401      # the tables with such rows
from retrograd.ops.lists.foreach import check_lists, in_place, item, listed, one_by_one
from retrograd.ops.nn import activation  # noqa: F401


def declare(op: OpDef) -> None:
    def single() -> Any:
        return item(op, f"Foreach{op.node_name}")

    def compute(self: Any) -> Any:
        check_lists(self)
        return map_each(single(), [self], ())
    listed(f"_foreach_{op.name}(Tensor[] self) -> Tensor[]", one_by_one(compute, single, 1))
    in_place(f"_foreach_{op.name}", "", "", f"{op.name}_")


ROWS = [row for packet in OPS.values() for row in packet.overloads_ if row.facts.get("foreach")]
for row in ROWS:
    declare(row)
