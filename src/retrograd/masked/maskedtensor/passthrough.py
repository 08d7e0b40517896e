"""Ops that move elements: they are done to the elements and to the mask alike."""
from __future__ import annotations

from typing import Any

from retrograd.utils import _pytree as pytree


def apply_passthrough(func: Any, args: Any, kwargs: Any, cls: type) -> Any:
    """The elements and the mask after the op."""
    def part(name: str) -> Any:
        return func(*pytree.tree_map_only(cls, lambda t: getattr(t, name), args),
                    **pytree.tree_map_only(cls, lambda t: getattr(t, name), kwargs))
    data, mask = part("_masked_data"), part("_masked_mask")
    if isinstance(data, list | tuple):
        return [cls._wrap(d, m) for d, m in zip(data, mask, strict=True)]       # type: ignore[attr-defined]
    return cls._wrap(data, mask)                                                # type: ignore[attr-defined]
