"""Meshes of devices: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent

NAMES = (
    "DeviceMesh", "init_device_mesh",
)
__all__ = [*NAMES]
globals().update(absent(__name__, *NAMES))
