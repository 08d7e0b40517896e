"""The types of results with named fields, such as that of `torch.max(x, dim)`: `torch.return_types.max`."""
from __future__ import annotations

from retrograd.core import opdef as _opdef
from retrograd.ops import load as _load


def _fields(name: str) -> tuple[str, ...]:
    """The names of the results of the op `name`, empty if it has one result or they have no names."""
    packet = _opdef.OPS.get(name)
    for op in packet.overloads_ if packet is not None else ():
        fields = tuple([part.name or "" for part in op.schema.returns])
        if len(fields) > 1 and all(fields):
            return fields
    return ()


def __getattr__(name: str) -> object:
    if not name.startswith("_"):
        _load.load_all()
        if name == "all_return_types":
            return [__getattr__(known) for known in __dir__()]
        fields = _fields(name) or _fields(name.removesuffix("_out"))
        if fields:
            return _opdef.result_type(name, fields)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    _load.load_all()
    names = [name for name in tuple(_opdef.OPS) if name[0] != "_" and not name.endswith("_forward") and _fields(name)]
    return sorted(names + [f"{name}_out" for name in names if _writes(name)])


def _writes(name: str) -> bool:
    """Whether the op has an out= form."""
    packet = _opdef.find_packet(name)
    return packet is not None and any([op.schema.is_out for op in packet.overloads_])
