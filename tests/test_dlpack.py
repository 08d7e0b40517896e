"""Tensors to and from other libraries by the DLPack protocol: what may travel, and capsules."""
from __future__ import annotations

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils import dlpack


def test_tensor_of_a_tensor_shares_its_memory_unless_copied() -> None:
    x = torch.arange(4.0)
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr() and torch.from_dlpack(x) is not x
    assert torch.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert torch.from_dlpack(x, device="cpu", copy=False).data_ptr() == x.data_ptr()


def test_capsule_is_consumed_once() -> None:
    capsule = dlpack.to_dlpack(torch.arange(4.0))
    assert dlpack.from_dlpack(capsule).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="capsules can be consumed only once"):
        dlpack.from_dlpack(capsule)


@pytest.mark.parametrize("wrong", [3, "a", None])
def test_other_objects_are_refused(wrong: object) -> None:
    with pytest.raises(RuntimeError, match="invalid capsule"):
        torch.from_dlpack(wrong)


@pytest.mark.parametrize(("make", "text"), [
    (lambda: torch.ones(2, requires_grad=True), "require gradient"),
    (lambda: torch.ones(2, dtype=torch.complex64).conj(), "conjugate bit set"),
    (lambda: torch.eye(2).to_sparse(), "layout other than torch.strided"),
    (lambda: torch.ones(2, device="meta"), "Cannot pack tensors on meta"),
])
def test_tensors_that_others_would_misread_stay(make, text: str) -> None:
    with pytest.raises(BufferError, match=text):
        make().__dlpack__()
    with pytest.raises((BufferError, ValueError), match=f"{text}|Unknown device type meta"):      # which is asked first
        torch.from_dlpack(make())


def test_streams_are_for_other_devices() -> None:
    x = torch.ones(2)
    with pytest.raises(TypeError, match="stream must be"):
        x.__dlpack__(stream="a")
    with pytest.raises(AssertionError, match="should be None on cpu"):
        x.__dlpack__(stream=1)
    assert x.__dlpack__(stream=None) is not None and x.__dlpack_device__() == (dlpack.DLDeviceType.kDLCPU, 0)
    with pytest.raises(ValueError, match="Unknown device type meta"):
        torch.ones(1, device="meta").__dlpack_device__()


def test_numpy_reads_and_is_read() -> None:
    x = torch.arange(6.0).view(2, 3).t()
    assert np.from_dlpack(x).tolist() == x.tolist()
    assert torch.from_dlpack(np.arange(6).reshape(2, 3)[:, ::2]).tolist() == [[0, 2], [3, 5]]


def test_writes_are_counted_for_each_side_alone() -> None:
    x = torch.ones(4)
    x.add_(1)
    part = torch.from_dlpack(x[1:3])
    assert part._version == 0 and part.storage_offset() == 0
    part.mul_(2)
    assert (x._version, part._version) == (1, 1)
    assert x.tolist() == [2, 4, 4, 2]


def test_tensor_from_a_capsule_can_be_written_to():
    x = torch.arange(4)
    y = torch.from_dlpack(torch.utils.dlpack.to_dlpack(x))
    y[0] = -9
    assert x.tolist() == y.tolist() == [-9, 1, 2, 3]
