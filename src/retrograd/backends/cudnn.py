"""NVIDIA's cuDNN, which nothing here uses."""
from retrograd.backends.absent import enabled, flags, is_available, is_built, version

benchmark = deterministic = False
allow_tf32 = True
benchmark_limit: int | None = None
fp32_precision = "none"

__all__ = ["enabled", "flags", "is_available", "is_built", "version"]
