"""The name that `torch.distributed.device_mesh` had before."""
from retrograd.distributed.device_mesh import DeviceMesh, init_device_mesh

__all__ = ["DeviceMesh", "init_device_mesh"]
