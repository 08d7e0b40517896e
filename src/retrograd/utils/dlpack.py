"""Tensors to and from other libraries by the DLPack protocol."""
from __future__ import annotations

import enum
from typing import Any

import retrograd as torch

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(enum.IntEnum):
    """The kinds of devices that the protocol numbers."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


def from_dlpack(ext_tensor: Any, **options: Any) -> Any:
    """A tensor over the memory of an array of another library.

    >>> import numpy
    >>> from_dlpack(numpy.arange(3))
    tensor([0, 1, 2])
    """
    return torch.from_dlpack(ext_tensor, **options)


def to_dlpack(tensor: Any) -> Any:
    """The capsule that other libraries read a tensor's memory through."""
    return tensor.__dlpack__()
