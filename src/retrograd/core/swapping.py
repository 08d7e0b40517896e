"""`swap_tensors`: exchanges the contents of two tensors for all their references."""
from __future__ import annotations

from typing import Any
from weakref import ref

from retrograd.core.graph import AccumulateGrad
from retrograd.core.tensor import Tensor

FIELDS = ("array", "_flags", "_requires", "_node", "_nr", "_counter", "_view", "_grad", "_sink", "_extra")


def swap(a: Any, b: Any) -> None:
    """Exchange classes, attributes, data and history of two tensors; the accumulators of leaves follow them."""
    for t in (a, b):
        if not isinstance(t, Tensor):
            raise TypeError(f"swap_tensors(): expected two tensors, got {type(t).__name__}")
    attributes = own_attributes(a), own_attributes(b)
    a.__class__, b.__class__ = b.__class__, a.__class__
    for name in FIELDS:
        first, second = getattr(a, name), getattr(b, name)
        setattr(a, name, second)
        setattr(b, name, first)
    for t, given in ((a, attributes[1]), (b, attributes[0])):
        for name in own_attributes(t):
            del t.__dict__[name]
        t.__dict__.update(given)
        node = t._sink() if type(t._sink) is ref else t._sink
        if type(node) is AccumulateGrad:
            node.weak = ref(t)
            if node.owned is not None:
                node.owned = t


def own_attributes(t: Tensor) -> dict[str, Any]:
    """The attributes that users set on the instance."""
    return {name: value for name, value in t.__dict__.items() if name not in FIELDS}
