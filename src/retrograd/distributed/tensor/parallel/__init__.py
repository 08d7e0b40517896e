"""Tensor parallelism: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent
from retrograd.distributed.tensor.parallel import style as _style

FUNCTIONS = ("loss_parallel", "parallelize_module")
__all__ = [*_style.__all__, *FUNCTIONS]
globals().update({name: getattr(_style, name) for name in _style.__all__}, **absent(__name__, *FUNCTIONS))
