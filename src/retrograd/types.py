"""Names for annotations: numbers, devices, sizes; PyTorch's `torch.types`."""
from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias

from retrograd.core.device import device
from retrograd.core.dtypes import dtype
from retrograd.core.tensor import Size, Tensor
from retrograd.ops.memory.copy import layout
from retrograd.storage import TypedStorage, UntypedStorage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_bool, _dtype, _float, _int, _complex = builtins.bool, dtype, builtins.float, builtins.int, builtins.complex
_device, _layout, _qscheme = device, layout, Any
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_size: TypeAlias = Size | list[int] | tuple[int, ...]
_symsize: TypeAlias = _size
_dispatchkey: TypeAlias = str
Number: TypeAlias = int | float | bool
Device: TypeAlias = device | str | int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
Storage: TypeAlias = UntypedStorage | TypedStorage
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
py_sym_types = (int, float, bool)
