"""torch.mtia without such a device: questions are answered honestly, and what needs a device raises.

>>> is_available(), device_count()
(False, 0)
>>> current_device()
Traceback (most recent call last):
AssertionError: Torch not compiled with MTIA enabled
"""
from __future__ import annotations

import sys

from retrograd import _absent_device

_absent_device.fill(sys.modules[__name__], "MTIA")
