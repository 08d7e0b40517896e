"""NVIDIA's cuDNN, which nothing here uses."""
import sys

from retrograd.backends.absent import enabled, flags, is_available, is_built, version
from retrograd.backends.frozen import Settings

benchmark = deterministic = False
allow_tf32 = True
benchmark_limit: int | None = None
fp32_precision = "none"

__all__ = ["enabled", "flags", "is_available", "is_built", "version"]

sys.modules[__name__].__class__ = Settings
