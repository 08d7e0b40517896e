"""The arguments of an event as a profiler with `record_shapes` keeps them: tensor metadata, numbers, type names."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.core.storage import address, offset_of, strides_of
from retrograd.core.tensor import FLAG_SPARSE, Tensor

__all__ = ["Input", "TensorMetadata"]

PLAIN = (bool, int, float, complex, str)
# dtype -> PyTorch's number for it, and the name of the type in C++
DTYPES = {"uint8": (0, "unsigned char"), "int8": (1, "signed char"), "int16": (2, "short int"), "int32": (3, "int"),
          "int64": (4, "long int"), "float16": (5, "c10::Half"), "float32": (6, "float"), "float64": (7, "double"),
          "complex32": (8, "c10::complex<c10::Half>"), "complex64": (9, "c10::complex<float>"),
          "complex128": (10, "c10::complex<double>"), "bool": (11, "bool"), "bfloat16": (15, "c10::BFloat16")}


class TensorMetadata:
    """Metadata of a tensor at the time of an event."""

    __slots__ = ("allocation_id", "device", "dim", "dtype", "id", "impl_ptr", "layout", "sizes", "storage_data_ptr", "strides")

    def __init__(self, t: Tensor) -> None:
        dense = not t._flags & FLAG_SPARSE
        self.sizes = list(t.array.shape)
        self.strides = list(strides_of(t.array)) if dense else []
        self.dim = len(self.sizes)
        self.dtype, self.device, self.layout = t.dtype, t.device, t.layout
        self.impl_ptr = id(t)
        self.storage_data_ptr: int | None = None
        if dense and t.array.size:
            self.storage_data_ptr = address(t.array) - offset_of(t.array) * t.array.itemsize
        self.id: int | None = None
        self.allocation_id: int | None = None

    def __repr__(self) -> str:
        return f"TensorMetadata(sizes={self.sizes}, strides={self.strides}, dtype={self.dtype})"


class Input:
    """One argument of an event."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        if isinstance(value, Tensor):
            value = TensorMetadata(value)
        elif isinstance(value, (list, tuple)):
            value = [TensorMetadata(v) if isinstance(v, Tensor) else v if isinstance(v, PLAIN) else None for v in value]
        elif name_of(value) in DTYPES:
            value = DTYPES[name_of(value)][0]
        elif not isinstance(value, PLAIN):
            value = None
        self.value = value

    @property
    def has_tensors(self) -> bool:
        return isinstance(self.value, list) and any([isinstance(v, TensorMetadata) for v in self.value])

    def shape(self) -> list[Any]:
        """The shape of a tensor; an empty list for everything else, lists of tensors included."""
        return self.value.sizes if isinstance(self.value, TensorMetadata) else []

    def concrete(self) -> Any:
        """A number, a text or a list of them; None for tensors."""
        return None if isinstance(self.value, TensorMetadata) or self.has_tensors else self.value

    def kind(self) -> str:
        """The name of the argument's type; for a tensor, of its elements."""
        if isinstance(self.value, TensorMetadata):
            return DTYPES.get(name_of(self.value.dtype), (0, ""))[1]
        if isinstance(self.value, list):
            return "TensorList" if self.has_tensors else "ScalarList" if self.value else ""
        return "" if self.value is None else "Scalar"

    def traced(self, fact: str) -> list[Any]:
        """Sizes or strides for a trace file; for a list of tensors, one entry for each."""
        if self.has_tensors:
            return [getattr(v, fact) if isinstance(v, TensorMetadata) else [] for v in self.value]
        return getattr(self.value, fact) if isinstance(self.value, TensorMetadata) else []

    def field(self) -> Any:
        """The argument in the tree of events."""
        return None if isinstance(self.value, list) and not self.has_tensors else self.value


def name_of(value: Any) -> str:
    text = str(value) if type(value).__name__ == "dtype" else ""
    return text.rpartition(".")[2]


def number_memory(inputs: Sequence[Any]) -> None:
    """Number the tensors of all events by memory."""
    known: dict[int, int] = {}
    for value in inputs:
        for v in value.value if value.has_tensors else (value.value,):
            if isinstance(v, TensorMetadata) and v.storage_data_ptr is not None:
                v.id = v.allocation_id = known.setdefault(v.storage_data_ptr, len(known))
