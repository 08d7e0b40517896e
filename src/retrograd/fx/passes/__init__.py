"""Passes over graphs."""
from __future__ import annotations

from retrograd.fx.passes import shape_prop, split_module

__all__ = ["shape_prop", "split_module"]
