"""Modules whose weights are rounded to levels before they are used."""
from __future__ import annotations

from retrograd.ao.nn.qat import modules as modules
from retrograd.ao.nn.qat.modules import Conv1d, Conv2d, Conv3d, Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Linear"]
