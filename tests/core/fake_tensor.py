"""A stand-in tensor class: just what argument binding and index parsing look at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retrograd.core import convert, indexing


class FakeDtype:
    def __init__(self, name: str) -> None:
        self.name = name


class FakeTensor:
    def __init__(self, value: Any, requires_grad: bool = False) -> None:
        self.array = np.asarray(value)
        self.dtype = FakeDtype(self.array.dtype.name)
        self.requires_grad = requires_grad
        self.shape = self.array.shape
        self.ndim = self.array.ndim

    def numel(self) -> int:
        return self.array.size

    def item(self) -> Any:
        return self.array.item()


# PyTorch's messages call the class by this name.
FakeTensor.__name__ = "Tensor"


def as_fake_index(value: Any) -> FakeTensor:
    array = np.asarray(value)
    return FakeTensor(array if array.dtype == np.bool_ else array.astype(np.int64))


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the stand-in the tensor class for one test."""
    monkeypatch.setattr(convert, "tensor_class", FakeTensor)
    monkeypatch.setattr(convert, "is_tensor", lambda value: isinstance(value, FakeTensor))
    monkeypatch.setattr(convert, "is_dtype", lambda value: isinstance(value, FakeDtype))
    monkeypatch.setattr(convert, "python_dtypes", {float: "float64", int: "int64"})
    monkeypatch.setattr(convert, "as_device", lambda value: f"device({value})")
    monkeypatch.setattr(indexing, "as_index_tensor", as_fake_index)
