"""Wrapper subclasses whose `__torch_dispatch__` answers for their size, strides, device or layout."""
from __future__ import annotations

from typing import Any

from retrograd.core.hooks import hooks
from retrograd.core.opdef import find_packet
from retrograd.core.state import tls
from retrograd.core.tensor import Size, Tensor

STRIDES = frozenset({"stride", "is_contiguous"})
POLICIES = {"strides": STRIDES, "sizes": STRIDES | {"size", "dim", "numel", "storage_offset"}}
ASKED = {"size": "sym_size", "stride": "sym_stride", "numel": "sym_numel", "storage_offset": "sym_storage_offset"}
SEQUENCES = ("size", "stride")


def set_policy(t: Tensor, policy: str | None, device: bool, layout: bool) -> None:
    """Set which properties are requested from the class of an instance."""
    asked = set(POLICIES[policy]) if policy is not None else set()
    if device:
        asked.add("device")
    if layout:
        asked.add("layout")
    if asked:
        t.__dict__["_described"] = asked


def check_policy(policy: str | None) -> None:
    if policy is not None and policy not in POLICIES:
        raise ValueError(f"Unknown sizes_strides_policy: {policy}; expected 'strides' or 'sizes'")


def described(t: Tensor, name: str, *args: Any) -> Any:
    """A property of `t` as its class's `__torch_dispatch__` gives it; None where the class does not override it."""
    asked = t.__dict__.get("_described")
    if asked is None or name not in asked or tls.dispatch_disabled:
        return None
    packet = find_packet(ASKED.get(name, name))
    if args and str(args[0]) == "torch.contiguous_format":      # the default, which PyTorch leaves out
        args = ()
    op = packet.memory_format if args else packet.default       # type: ignore[union-attr]
    if not op._ready:
        op.prepare()
    result = type(t).__torch_dispatch__(op, (type(t),), (t, *args), {})
    if result is NotImplemented:
        space = "prim" if name in ("device", "layout") else "aten"
        raise TypeError(f"Multiple dispatch failed for 'torch.ops.{space}.{op.name}'; all __torch_dispatch__ handlers returned "
                        f"NotImplemented:\n\n  - tensor subclass {type(t)}\n\nFor more information, try re-running with "
                        "TORCH_LOGS=not_implemented")
    if result is None and name == "dim":
        raise RuntimeError("dim returned invalid type NoneType, expected int")
    if result is None or name not in SEQUENCES:
        return result
    return Size(result) if name == "size" else tuple(result)


hooks.described = described
