"""Tensors over several devices: names that programs import, which raise when they are used."""
from __future__ import annotations

from retrograd.distributed._absent import absent
from retrograd.distributed.device_mesh import DeviceMesh, init_device_mesh
from retrograd.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

NAMES = ("DTensor", "DTensor.from_local", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn",
         "zeros")
__all__ = ["DeviceMesh", "Partial", "Placement", "Replicate", "Shard", "init_device_mesh",
           *[name for name in NAMES if "." not in name]]
globals().update(absent(__name__, *NAMES))
