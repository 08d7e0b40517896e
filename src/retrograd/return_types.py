"""The types of results with named fields, such as that of `torch.max(x, dim)`: `torch.return_types.max`."""
from __future__ import annotations

from typing import Any

from retrograd.core.opdef import OPS, result_type
from retrograd.ops.load import load_all


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        load_all()
        packet = OPS.get(name)
        for op in packet.overloads_ if packet is not None else ():
            fields = [part.name for part in op.schema.returns]
            if len(fields) > 1 and all(fields):
                return result_type(name, tuple(fields))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
