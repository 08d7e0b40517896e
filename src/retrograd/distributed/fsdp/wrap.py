"""Which modules are sharded: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
