"""torch.mps without such a device: questions are answered honestly, and what needs a device raises.

>>> is_available(), device_count()
(False, 0)
>>> current_device()
Traceback (most recent call last):
AssertionError: Torch not compiled with MPS enabled
"""
from __future__ import annotations

import sys

from retrograd import _absent_device

_absent_device.fill(sys.modules[__name__], "MPS")
current_allocated_memory = driver_allocated_memory = recommended_max_memory = _absent_device.cuda.memory_allocated
