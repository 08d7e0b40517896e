"""functorch.experimental.control_flow: `cond` and `map`."""
from __future__ import annotations

from retrograd._higher_order_ops.control_flow import cond, map

__all__ = ["cond", "map"]
