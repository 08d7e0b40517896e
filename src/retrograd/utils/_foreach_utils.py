"""Lists of tensors by device and dtype, as optimizers group them."""
from __future__ import annotations

from typing import Any

from retrograd.core.lists import gradient_lists as gradient_lists
from retrograd.core.tensor import Tensor

_foreach_supported_types = [Tensor]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices with ops on lists of tensors besides the cpu.

    >>> _get_foreach_kernels_supported_devices()
    ['cuda', 'xpu', 'mtia']
    """
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors: list[Any], device: Any) -> bool:
    return _device_has_foreach_support(device) and all(t is None or hasattr(t, "dtype") for t in tensors)


def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> dict[Any, Any]:
    """The columns of several lists by the device and dtype of the first list's tensors, with their places.

    >>> import retrograd as torch
    >>> lists = [[torch.ones(1), torch.ones(1, dtype=torch.float64)]]
    >>> [(key[1], places) for key, (_, places) in _group_tensors_by_device_and_dtype(lists, with_indices=True).items()]
    [(torch.float32, [0]), (torch.float64, [1])]
    """
    groups: dict[Any, Any] = {}
    for place, first in enumerate(tensorlistlist[0]):
        columns, places = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for column, tensors in zip(columns, tensorlistlist):
            if tensors:
                column.append(tensors[place])
        if with_indices:
            places.append(place)
    return groups
