"""Printing: the text of every recorded tensor, and what the recordings cannot show (subclasses, errors, laziness)."""
from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from retrograd.core import dtypes
from retrograd.core.printing import get_printoptions, printoptions, set_printoptions, tensor_str

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "golden" / "printing.json").read_text())


class Tensor:
    """As much of a tensor as printing reads."""

    def __init__(self, array: Any, dtype: dtypes.dtype | None = None, *, shape: tuple[int, ...] | None = None,
                 device: str = "cpu", requires_grad: bool = False, node: str | None = None,
                 tangent: Any = None) -> None:
        self.array = array
        self.dtype = dtypes.from_numpy(array.dtype) if dtype is None else dtype
        self.shape = array.shape if shape is None else shape
        self.device = Device(device)
        self.requires_grad = requires_grad
        self.is_leaf = node is None
        self._node = node
        self._tangent = tangent

    @property
    def grad_fn(self) -> Any:
        if self._node == "Invalid":
            raise RuntimeError("this view has no node")
        return None if self._node is None else type(self._node, (), {})()

    def __repr__(self) -> str:
        return tensor_str(self)


class Device(SimpleNamespace):
    def __init__(self, name: str) -> None:
        super().__init__(type=name.partition(":")[0], name=name)

    def __str__(self) -> str:
        return self.name


@pytest.fixture(autouse=True)
def defaults() -> Iterator[None]:
    yield
    set_printoptions(profile="default")
    dtypes.set_default_dtype(dtypes.float32)


def build(case: dict[str, Any]) -> Tensor:
    dtype = dtypes.BY_NAME[case["dtype"]]
    shape = tuple(case["shape"])
    array: Any = None
    with np.errstate(all="ignore"):
        if "scrambled" in case:
            index = np.arange(math.prod(shape))
            array = (index * 2654435761 % 4294967296 / 4294967296 * case["scrambled"]).astype(dtype.numpy)
        elif dtype.is_complex:
            array = np.array(case["values"], np.float64).view(np.complex128).astype(dtype.numpy)
        elif "values" in case:
            exact = np.float64 if dtype.is_floating_point else dtype.numpy
            array = np.array(case["values"], exact).astype(dtype.numpy)
    if array is not None:
        array = array.reshape(shape)
    return Tensor(array, dtype, shape=shape, device=case.get("device", "cpu"),
                  requires_grad=case.get("requires_grad", False), node=case.get("node"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['dtype']}-{case['shape']}")
def test_golden(case: dict[str, Any]) -> None:
    set_printoptions(**case.get("options", {}))
    dtypes.set_default_dtype(dtypes.BY_NAME[case.get("default", "float32")])
    assert tensor_str(build(case)) == case["text"]


def test_subclass_prints_its_name_and_indents_by_it() -> None:
    class MyTensor(Tensor):
        pass

    assert tensor_str(MyTensor(np.arange(20, dtype=np.float32), requires_grad=True)) == (
        "MyTensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "          14., 15., 16., 17., 18., 19.], requires_grad=True)")


def test_unreadable_grad_fn() -> None:
    assert tensor_str(Tensor(np.float32([4, 4]), node="Invalid")) == "tensor([4., 4.], grad_fn=<Invalid>)"


def test_tangent() -> None:
    tangent = Tensor(np.float32([0, 2, 4]), node="AddBackward0")
    assert tensor_str(Tensor(np.float32([2, 2, 2]), node="MulBackward0", tangent=tangent)) == (
        "tensor([2., 2., 2.], grad_fn=<MulBackward0>,\n"
        "       tangent=tensor([0., 2., 4.], grad_fn=<AddBackward0>))")


def test_given_contents_replace_the_numbers() -> None:
    tensor = Tensor(None, dtypes.float32, shape=(2,), requires_grad=True)
    assert tensor_str(tensor, tensor_contents="hi\nthere") == "tensor(hi\nthere, requires_grad=True)"


def test_device_suffix_and_copy_from_a_device_array() -> None:
    class DeviceArray:
        """An array that only slices, and copies itself to main memory on request."""

        def __init__(self, array: Any, copied: list[int]) -> None:
            self._array, self._copied = array, copied
            self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

        def __getitem__(self, index: Any) -> DeviceArray:
            return DeviceArray(self._array[index], self._copied)

        def get(self) -> Any:
            self._copied.append(self._array.size)
            return self._array

    copied: list[int] = []
    array = DeviceArray(np.arange(1_000_000).reshape(1000, 1000), copied)
    text = tensor_str(Tensor(array, dtypes.int64, shape=(1000, 1000), device="cuda:0"))
    assert text.startswith("tensor([[     0,      1,      2,  ...,    997,    998,    999],\n")
    assert text.endswith(" device='cuda:0')")
    assert sum(copied) == 36  # three by three elements in each of the four corners


def test_huge_tensor_reads_only_its_corners() -> None:
    array = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), (10**6, 10**6), (0, 0))
    assert tensor_str(Tensor(array)).count("1.") == 36


def test_options_can_be_read_and_scoped() -> None:
    with printoptions(precision=8, sci_mode=True):
        assert get_printoptions() == {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 80,
                                      "sci_mode": True}
        assert tensor_str(Tensor(np.float64([1]))) == "tensor([1.00000000e+00], dtype=torch.float64)"
    assert get_printoptions()["precision"] == 4
    assert get_printoptions()["sci_mode"] is None
