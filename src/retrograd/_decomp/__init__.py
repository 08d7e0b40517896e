"""Decompositions: functions that compute an op by means of other ops, for tracers that want fewer kinds of them.

    make_fx(f, decomposition_table=get_decompositions([torch.ops.aten.addmm]))
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import retrograd as torch
from retrograd.core.opdef import OpDef, Packet

__all__ = ["core_aten_decompositions", "decomposition_table", "get_decompositions", "global_decomposition_table", "meta_table",
           "pre_autograd_decomposition_table", "register_decomposition", "remove_decompositions"]

global_decomposition_table: dict[str, dict[Any, Callable[..., Any]]] = defaultdict(dict)
decomposition_table = global_decomposition_table["post_autograd"]
pre_autograd_decomposition_table = global_decomposition_table["pre_autograd"]
meta_table = global_decomposition_table["meta"]


def overloads_of(op: Any) -> list[Any]:
    """The overloads that a packet stands for; an overload stands for itself."""
    if isinstance(op, Packet):
        return [getattr(op, name) for name in op.overloads()]
    return [op]


def register_decomposition(aten_op: Any, registry: dict[Any, Any] | None = None, *, type: str = "post_autograd",
                           unsafe: bool = False) -> Callable[[Any], Any]:
    """A decorator that makes a function the decomposition of an op, of all overloads of a packet, or of several ops.

    >>> table = {}
    >>> @register_decomposition(torch.ops.aten.square.default, table)
    ... def square(x):
    ...     return x * x
    >>> table[torch.ops.aten.square.default] is square
    True
    """
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"invalid type {type!r}, must be one of 'post_autograd', 'pre_autograd', 'meta'")

    def register(fn: Any) -> Any:
        table = global_decomposition_table[type] if registry is None else registry
        for op in aten_op if isinstance(aten_op, (list, tuple)) else [aten_op]:
            if not isinstance(op, (OpDef, Packet)) and not hasattr(op, "overloads") and not hasattr(op, "_schema"):
                raise TypeError(f"Unexpected argument {op}: an op or a packet of ops is expected")
            for overload in overloads_of(op):
                if overload in table:
                    raise RuntimeError(f"duplicate registrations for {overload}")
                table[overload] = fn
        return fn
    return register


def get_decompositions(aten_ops: Iterable[Any], type: str = "post_autograd") -> dict[Any, Callable[..., Any]]:
    """The decompositions that are registered for some ops; ops without one are left out.

    >>> sorted([str(op) for op in get_decompositions([torch.ops.aten.addmm, torch.ops.aten.sin])])
    ['aten.addmm.default']
    """
    if type not in ("post_autograd", "pre_autograd", "meta"):
        raise AssertionError(f"invalid type {type!r}, must be one of 'post_autograd', 'pre_autograd', 'meta'")
    table = global_decomposition_table[type]
    return {overload: table[overload] for op in aten_ops for overload in overloads_of(op) if overload in table}


def remove_decompositions(decompositions: dict[Any, Any], aten_ops: Iterable[Any]) -> None:
    """Take the entries of some ops out of a table."""
    for op in aten_ops:
        for overload in overloads_of(op):
            decompositions.pop(overload, None)


def core_aten_decompositions() -> dict[Any, Callable[..., Any]]:
    """The decompositions of ops that are not among the core ones."""
    return {op: fn for op, fn in decomposition_table.items() if torch.Tag.core not in op.tags}


import retrograd._decomp.decompositions  # noqa: E402     # fills the tables
