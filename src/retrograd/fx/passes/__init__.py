"""Passes over graphs."""
from __future__ import annotations

from retrograd.fx.passes import shape_prop

__all__ = ["shape_prop"]
