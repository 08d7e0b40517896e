"""The ops that masked tensors support, by the `masked` column of their rows; PyTorch's lists of them, made on first use."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.core.opdef import OPS, fact, find_packet
from retrograd.ops.load import load_all

LISTS = {"NATIVE_UNARY_FNS": ("unary", ""), "NATIVE_INPLACE_UNARY_FNS": ("unary", "_"),
         "NATIVE_BINARY_FNS": ("binary", ""), "NATIVE_INPLACE_BINARY_FNS": ("binary", "_"),
         "NATIVE_REDUCE_FNS": ("reduction", ""), "PASSTHROUGH_FNS": ("passthrough", "")}
NAME_LISTS = {"UNARY_NAMES": ("unary", ""), "BINARY_NAMES": ("binary", ""), "REDUCE_NAMES": ("reduction", ""),
              "INPLACE_UNARY_NAMES": ("unary", "_"), "INPLACE_BINARY_NAMES": ("binary", "_")}


def kind_of(name: str) -> str | None:
    """How masked tensors take the op `name`: as its row says, or that of the op that it is an alias or the in-place form of.

    >>> kind_of("arccos_")
    'unary'
    """
    packet = find_packet(name)
    if packet is None:
        return None
    kind = fact(name, "masked")
    if kind is not None:
        return kind
    alias = next((row.alias[0] for row in packet.rows() if row.alias is not None), None)
    meant = kind_of(name[:-1]) if name.endswith("_") else None if alias is None else fact(alias, "masked")
    return meant if meant in ("unary", "binary") else None


def names_of(kind: str, suffix: str) -> list[str]:
    """The names of all functional ops of a kind, with a suffix where such an op exists; without those of torch.special."""
    load_all()
    return [f"{name}{suffix}" for name in sorted(OPS) if not name.endswith("_") and not name.startswith("special_")
            and kind_of(name) == kind and find_packet(f"{name}{suffix}") is not None]


def __getattr__(name: str) -> Any:
    if name in LISTS:
        return [getattr(torch.ops.aten, op) for op in names_of(*LISTS[name])]
    if name in NAME_LISTS:
        return names_of(*NAME_LISTS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
