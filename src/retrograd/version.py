"""The version of PyTorch that retrograd follows, as `torch.version` tells it, and the toolkits that it is built without."""
from __future__ import annotations

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

__version__ = "2.13.0+retrograd"
debug = False
git_version = "retrograd"
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
