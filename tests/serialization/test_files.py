"""Files: saving is atomic, old formats and whole modules travel between PyTorch and here, memory maps."""
from __future__ import annotations

import io
import os
import pickle
import pickletools
import stat
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn, serialization
from retrograd.testing import assert_close

GOLDEN = Path(__file__).parent.parent / "golden"


def round_trip(obj: Any, save: dict[str, Any] | None = None, **kwargs: Any) -> Any:
    file = io.BytesIO()
    torch.save(obj, file, **(save or {}))
    file.seek(0)
    return torch.load(file, **kwargs)


# ---- saving is atomic
class FullDisk(io.BytesIO):
    """Takes some bytes, then no more."""

    room = 500

    def write(self, data: Any) -> int:
        if self.tell() + len(data) > self.room:
            raise OSError(28, "No space left on device")
        return super().write(data)


def test_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pt"
    torch.save(torch.ones(3), path)
    before = path.read_bytes()
    monkeypatch.setattr(zipfile.ZipFile, "writestr", lambda *args: (_ for _ in ()).throw(OSError(28, "No space left")))
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.zeros(1000), path)
    monkeypatch.undo()
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.pt"]


def test_save_that_cannot_be_made_durable_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.pt"
    torch.save(torch.ones(3), path)

    def fail(number: int) -> None:
        raise OSError(5, "Input/output error")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output"):
        torch.save(torch.zeros(3), path)
    assert torch.load(path).tolist() == [1.0, 1.0, 1.0] and os.listdir(tmp_path) == ["model.pt"]


def test_failed_save_takes_back_what_it_wrote() -> None:
    file = FullDisk()
    file.write(b"head")
    with pytest.raises(OSError, match="No space left"):
        torch.save(torch.zeros(1000), file)
    assert file.getvalue() == b"head"


def test_save_keeps_mode_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "model.pt", tmp_path / "link.pt"
    torch.save(1, path)
    os.chmod(path, 0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink() and torch.load(path) == 2 and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_save_writes_to_devices_and_missing_folders_are_named(tmp_path: Path) -> None:
    torch.save(1, "/dev/null")
    assert not os.path.isfile("/dev/null")
    with pytest.raises(RuntimeError, match="Parent directory .*missing does not exist"):
        torch.save(1, tmp_path / "missing" / "a.pt")


def test_object_with_nothing_but_write_is_enough() -> None:
    class Sink:
        """Collects what is written."""

        def __init__(self) -> None:
            self.parts: list[bytes] = []

        def write(self, data: Any) -> int:
            self.parts.append(bytes(data))
            return len(data)

        def flush(self) -> None:
            """Nothing waits."""
    sink = Sink()
    torch.save(torch.ones(2), sink)
    assert torch.load(io.BytesIO(b"".join(sink.parts))).tolist() == [1.0, 1.0]


# ---- formats
@pytest.mark.parametrize("save", [{"pickle_protocol": 3}, {"pickle_protocol": 4}, {"pickle_protocol": 5},
                                  {"_use_new_zipfile_serialization": False}])
def test_other_formats_come_back(save: dict[str, Any]) -> None:
    base = torch.arange(6.0)
    found = round_trip({"a": base, "b": base[2:4], "set": {1}, "bytes": b"x", "bools": torch.tensor([True])}, save)
    found["a"][2] = 7
    assert found["b"].tolist() == [7.0, 3.0] and found["set"] == {1} and found["bytes"] == b"x" and found["bools"].item()


def test_old_file_of_pytorch_is_read() -> None:
    for weights_only in (True, False):
        found = torch.load(GOLDEN / "torch_2_13_legacy.pt", weights_only=weights_only)
        assert found["a"].tolist() == [1.0, 2.0, 3.0] and found["a"].storage_offset() == 1
        assert found["bools"].tolist() == [True, False] and found["list"] == [1, "x", b"y", 2 ** 70]
        assert found["sparse"].is_coalesced() and found["csr"].layout is torch.sparse_csr
        assert_close(found["sparse"].to_dense(), torch.eye(2))
        assert isinstance(found["p"], nn.Parameter)


@pytest.mark.parametrize("kind", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_sparse_tensors_come_back(kind: str) -> None:
    t = getattr(torch.tensor([[0.0, 2.0], [3.0, 0.0]]), kind)()
    back = round_trip(t)
    assert back.layout is t.layout
    assert_close(back.to_dense(), t.to_dense())


def test_uncoalesced_tensor_stays_so() -> None:
    t = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (3,))
    back = round_trip(t)
    assert not back.is_coalesced() and back._nnz() == 2


def test_generator_goes_on_where_it_was() -> None:
    generator = torch.Generator()
    generator.manual_seed(7)
    torch.rand(3, generator=generator)
    back = round_trip(generator)
    assert back.initial_seed() == 7
    assert torch.rand(4, generator=back).tolist() == torch.rand(4, generator=generator).tolist()


def test_mapped_file_is_not_changed_by_writes(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save({"a": torch.ones(100), "b": torch.zeros(3)}, path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    found["a"][0] = 5
    assert found["a"].sum().item() == 104 and path.read_bytes() == before
    with pytest.raises(ValueError, match="must be a file path"):
        torch.load(io.BytesIO(before), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        torch.load(GOLDEN / "torch_2_13_legacy.pt", mmap=True)


def test_mapped_file_can_be_written_through(tmp_path: Path) -> None:
    import mmap
    path = tmp_path / "a.pt"
    torch.save(torch.ones(100), path)
    with serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True)[0] = 5
    assert b"\x00\x00\xa0\x40" in path.read_bytes()
    assert serialization.get_default_mmap_options() == mmap.MAP_PRIVATE


# ---- whole modules
def test_modules_and_optimizers_of_pytorch_are_read() -> None:
    found = torch.load(GOLDEN / "torch_2_13_modules.pt", weights_only=False)
    assert type(found["model"]) is nn.Sequential and type(found["optimizer"]) is torch.optim.AdamW
    assert_close(found["model"](found["x"]), found["y"])
    assert_close(found["lstm"](found["x"][:, None])[0], found["z"])
    assert_close(found["encoder"](torch.ones(1, 2, 4)), found["w"])
    assert_close(torch.rand(3, generator=found["generator"]), found["next"])
    assert found["relu"] is nn.functional.relu
    found["optimizer"].step()
    assert found["sched"].get_last_lr() == [1.0]
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        torch.load(GOLDEN / "torch_2_13_modules.pt")


def names_in(obj: Any) -> set[str]:
    file = io.BytesIO()
    torch.save(obj, file)
    with zipfile.ZipFile(file) as archive:
        return {str(value) for opcode, value, _ in pickletools.genops(archive.read("archive/data.pkl"))
                if opcode.name == "GLOBAL"}


def test_classes_are_saved_under_the_names_that_pytorch_has() -> None:
    model = nn.Sequential(nn.Linear(1, 1), nn.LSTM(1, 1), nn.TransformerEncoderLayer(4, 2))
    assert {name for name in names_in(model) if name.startswith("torch.nn")} == {
        "torch.nn.modules.container Sequential", "torch.nn.modules.linear Linear", "torch.nn.modules.rnn LSTM",
        "torch.nn.modules.transformer TransformerEncoderLayer", "torch.nn.modules.activation MultiheadAttention",
        "torch.nn.modules.linear NonDynamicallyQuantizableLinear", "torch.nn.modules.normalization LayerNorm",
        "torch.nn.modules.dropout Dropout", "torch.nn.functional relu"}
    parameters = list(model.parameters())
    for kind, module in ((torch.optim.AdamW, "adamw"), (torch.optim.SGD, "sgd"), (torch.optim.Adam, "adam")):
        assert f"torch.optim.{module} {kind.__name__}" in names_in(kind(parameters))
    assert not [name for name in names_in(model) if "retrograd" in name]


def test_modules_come_back() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.LSTM(3, 2))
    back = round_trip(model, weights_only=False)
    x = torch.ones(1, 2)
    assert_close(back(x)[0], model(x)[0])
    assert [type(m) for m in back.modules()] == [type(m) for m in model.modules()]


def test_names_in_torchs_place_are_the_same(tmp_path: Path) -> None:
    program = ("import retrograd.as_torch; retrograd.as_torch.install(); import torch\n"
               f"model = torch.load({str(GOLDEN / 'torch_2_13_modules.pt')!r}, weights_only=False)['model']\n"
               "assert type(model) is torch.nn.Sequential\n"
               f"torch.save(model, {str(tmp_path / 'a.pt')!r})\n")
    subprocess.run([sys.executable, "-c", program], check=True)
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        data = archive.read("a/data.pkl")
    assert b"torch.nn.modules.container\nSequential" in data and b"retrograd" not in data


# ---- what is declared safe
def test_safe_globals_are_as_in_pytorch() -> None:
    class Mine:
        """Somebody's class."""
    serialization.add_safe_globals([Mine, (Mine, "other.Name")])
    try:
        assert serialization.get_safe_globals() == [Mine, (Mine, "other.Name")]
        with serialization.safe_globals([io.BytesIO]):
            assert io.BytesIO in serialization.get_safe_globals()
        assert io.BytesIO not in serialization.get_safe_globals()
    finally:
        serialization.clear_safe_globals()
    assert serialization.get_safe_globals() == []


def test_unsafe_names_are_listed() -> None:
    file = io.BytesIO()
    torch.save({"a": torch.ones(1), "b": nn.Linear(1, 1)}, file)
    file.seek(0)
    assert serialization.get_unsafe_globals_in_checkpoint(file) == ["torch.nn.modules.linear.Linear"]
    with pytest.raises(pickle.UnpicklingError):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(b"PK\x03\x04"))


def test_registered_place_is_used() -> None:
    seen: list[str] = []
    places = serialization.places.PACKAGES                  # type: ignore[attr-defined]
    serialization.register_package(1, lambda storage: "mine", lambda storage, location: (
        seen.append(location) or storage if location == "mine" else None))
    try:
        assert round_trip(torch.ones(2)).tolist() == [1.0, 1.0]
    finally:
        places.pop()
    assert seen == ["mine"]


def test_swapped_bytes_are_swapped_back() -> None:
    file, other = io.BytesIO(), io.BytesIO()
    torch.save([torch.arange(3.0), torch.tensor([1 + 2j])], file)
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(other, "w") as made:
        for name in archive.namelist():
            data = archive.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            elif "/data/" in name:
                data = b"".join([data[i:i + 4][::-1] for i in range(0, len(data), 4)])
            made.writestr(name, data)
    other.seek(0)
    a, b = torch.load(other)
    assert a.tolist() == [0.0, 1.0, 2.0] and b.tolist() == [1 + 2j]
