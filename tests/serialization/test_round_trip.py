"""Saving and loading: round trips, files written by PyTorch, and files that must not be read."""
from __future__ import annotations

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd import serialization
from retrograd.testing import assert_close

GOLDEN = Path(__file__).parent.parent / "golden" / "torch_2_13.pt"      # written by PyTorch 2.13.0


class Something:
    """A class that no file may name unasked."""

    def __init__(self, value: int) -> None:
        self.value = value


def round_trip(obj: Any, **kwargs: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file)
    file.seek(0)
    return torch.load(file, **kwargs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32,
                                   torch.int16,
                                   torch.int8, torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.uint16])
def test_every_dtype_comes_back(dtype: Any) -> None:
    t = torch.tensor([[1, 0, 1], [0, 1, 1]]).to(dtype)
    back = round_trip(t)
    assert back.dtype is dtype and back.tolist() == t.tolist()


def test_plain_structure_comes_back() -> None:
    obj = {"a": [1, 2.5, None, True, "text", b"bytes"], "b": (1j, {3, 4}), 5: OrderedDict(x=torch.Size([1, 2]))}
    assert round_trip(obj) == obj
    assert isinstance(round_trip(obj)[5]["x"], torch.Size)


def test_dtype_device_and_layout_come_back() -> None:
    assert round_trip([torch.float16, torch.device("cpu"), torch.strided]) == [torch.float16, torch.device("cpu"),
                                                                               torch.strided]
    assert round_trip(torch.float16) is torch.float16


def test_shared_storage_stays_shared() -> None:
    base = torch.arange(6.0)
    a, b = round_trip((base, base[2:4]))
    a[2] = 100
    assert b[0] == 100


def test_strides_and_offset_are_kept() -> None:
    t = torch.arange(12.0).reshape(3, 4).t()[1:, ::2]
    back = round_trip(t)
    assert back.stride() == t.stride() and back.storage_offset() == t.storage_offset()
    assert_close(back, t)


def test_requires_grad_and_attributes_are_kept() -> None:
    t = torch.ones(2, requires_grad=True)
    assert round_trip(t).requires_grad
    t.note = "hello"
    assert round_trip(t).note == "hello"


def test_result_of_a_computation_is_saved_without_history() -> None:
    back = round_trip(torch.ones(2, requires_grad=True) * 2)
    assert back.grad_fn is None and back.is_leaf and back.requires_grad


def test_conjugate_and_meta_tensors_come_back() -> None:
    back = round_trip(torch.tensor([1 + 2j]).conj())
    assert back.is_conj() and back.tolist() == [1 - 2j]
    assert round_trip(torch.ones(2, 3, device="meta")).shape == (2, 3)


def test_empty_and_scalar_tensors_come_back() -> None:
    assert round_trip(torch.empty(0, 3)).shape == (0, 3)
    assert round_trip(torch.tensor(7)).item() == 7


def test_storages_come_back() -> None:
    assert round_trip(torch.ones(2).untyped_storage()).tolist() == torch.ones(2).untyped_storage().tolist()


def test_path_can_be_a_string_or_a_path(tmp_path: Path) -> None:
    torch.save(torch.ones(2), tmp_path / "a.pt")
    assert torch.load(str(tmp_path / "a.pt")).tolist() == [1.0, 1.0]
    assert "a/data.pkl" in zipfile.ZipFile(tmp_path / "a.pt").namelist()


def test_data_are_aligned(tmp_path: Path) -> None:
    torch.save([torch.ones(3), torch.ones(5)], tmp_path / "a.pt")
    archive = zipfile.ZipFile(tmp_path / "a.pt")
    content = (tmp_path / "a.pt").read_bytes()
    for key in "01":
        info = archive.getinfo(f"a/data/{key}")
        header = content[info.header_offset:]
        start = info.header_offset + 30 + int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        assert start % 64 == 0


def test_two_dtypes_on_one_storage_are_refused() -> None:
    t = torch.ones(2)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        round_trip([t, t.view(torch.int32)])


def test_failed_save_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises((AttributeError, pickle.PicklingError)):
        torch.save(lambda: None, tmp_path / "a.pt")
    assert not (tmp_path / "a.pt").exists()


# ---- what files may do
def test_other_classes_are_refused_by_default() -> None:
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed.*(\n.*)*Unsupported global.*Something"):
        round_trip(Something(3))
    assert round_trip(Something(3), weights_only=False).value == 3


def test_class_declared_safe_is_read() -> None:
    with serialization.safe_globals([Something]):
        assert round_trip(Something(3)).value == 3
    assert serialization.get_safe_globals() == []


@pytest.mark.parametrize("program", [
    b"cos\nsystem\n(S'true'\ntR.",                                       # call a function that is not allowed
    b"cbuiltins\neval\n(S'1'\ntR.",
    b"c__builtin__\ngetattr\n(c__builtin__\nset\nS'pop'\ntR.",
    b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}(X\x04\x00\x00\x00evilK\x01ub.",     # set an attribute of a function
    b"\x80\x02ctorch\nTensor\n}X\x04\x00\x00\x00evilK\x01sb.",                         # and of a class
])
def test_hostile_pickle_is_refused(program: bytes) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", program)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(file)
    assert not hasattr(torch.Tensor, "evil")


def test_tensor_outside_its_storage_is_refused() -> None:
    file, changed = io.BytesIO(), io.BytesIO()
    torch.save(torch.arange(4.0)[:2], file)
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(changed, "w") as other:
        for name in archive.namelist():
            other.writestr(name, archive.read(name)[:4] if name.endswith("data/0") else archive.read(name))
    changed.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="storage 0 has 4 bytes"):
        torch.load(changed)


def test_file_of_another_kind_is_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="not a zip archive"):
        torch.load(io.BytesIO(b"hello world"))
    with pytest.raises(AttributeError, match="seekable"):
        torch.load(3)
    with pytest.raises(AttributeError, match="'write' attribute"):
        torch.save(3, 3)


# ---- devices
def test_location_is_mapped() -> None:
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    for where in ("cpu", torch.device("cpu"), {"cpu": "cpu"}, lambda storage, location: storage, lambda storage,
                  location: None):
        file.seek(0)
        assert torch.load(file, map_location=where).tolist() == [1.0, 1.0]
    file.seek(0)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        torch.load(file, map_location="cuda:0")


# ---- PyTorch's files
def test_file_of_pytorch_is_read() -> None:
    found = torch.load(GOLDEN)
    assert_close(found["b"], torch.arange(12.0).reshape(3, 4))
    assert found["row"].storage_offset() == 4 and found["t"].stride() == (1, 4)
    found["b"][1, 0] = -1
    assert found["row"][0] == -1 and found["t"][0, 1] == -1
    assert found["bf"].dtype is torch.bfloat16 and found["half"].item() == 1.5
    assert found["c"].tolist() == [1 - 2j] and found["u16"].dtype is torch.uint16
    assert found["dtype"] is torch.int8 and found["size"] == torch.Size([1, 2])
    assert isinstance(found["p"], torch.nn.Parameter) and found["p"].requires_grad and found["req"].requires_grad
    assert list(found["model"])[:2] == ["0.weight", "0.bias"] and found["model"]._metadata[""] == {"version": 1}
    assert found["opt"]["param_groups"][0]["betas"] == (0.9, 0.999)
    assert found["list"] == [1, "a", (2.5, None, True)] and found["e"].shape == (0, 3) and found["s"].item() == 7
