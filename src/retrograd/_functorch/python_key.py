"""`make_fx`, where older programs look for it."""
from __future__ import annotations

from retrograd.fx.experimental.proxy_tensor import make_fx

__all__ = ["make_fx"]
