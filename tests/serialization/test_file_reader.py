"""The entries of saved files by name, and what reading and writing warn of."""
from __future__ import annotations

import io
import pickle

import pytest

import retrograd as torch
from retrograd.serialization.file_reader import PyTorchFileReader


def saved(obj, **options):
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


def test_entries_are_read_by_name(tmp_path):
    path = tmp_path / "model.pt"
    torch.save({"a": torch.arange(3)}, path)
    reader = PyTorchFileReader(str(path))
    assert {"data.pkl", "data/0", "version", "byteorder"} <= set(reader.get_all_records())
    assert reader.has_record("data/0") and not reader.has_record("data/1")
    assert reader.get_record("data/0") == torch.arange(3).numpy().tobytes()
    assert reader.get_storage_from_record("data/0", 3, torch.int64).tolist() == [0, 1, 2]
    start = reader.get_record_offset("data/0")
    assert start % 64 == 0 and path.read_bytes()[start:start + 24] == reader.get_record("data/0")
    assert len(reader.serialization_id()) == 40
    with pytest.raises(RuntimeError, match="PytorchStreamReader failed locating file x: file not found"):
        reader.get_record("x")


def test_alignment_is_a_setting():
    with torch.utils.serialization.config.patch("save.storage_alignment", 4096):
        file = saved(torch.ones(2))
    assert PyTorchFileReader(file).get_record_offset("data/0") % 4096 == 0
    with pytest.raises(AttributeError, match="torch.utils.serialization.config.odd does not exist"):
        torch.utils.serialization.config.odd = 1


def test_a_refused_file_says_what_can_be_done():
    with pytest.raises(pickle.UnpicklingError, match="Please file an issue with the following so that we can make"):
        torch.load(io.BytesIO(b"garbage"))
    with pytest.raises(pickle.UnpicklingError, match="Unsupported operand 103"):
        torch.load(io.BytesIO(b"garbage"))
    with pytest.raises(pickle.UnpicklingError, match=r"\(1\) In PyTorch 2.6, we changed the default value"):
        torch.load(saved(Exception()))


def test_a_file_of_the_older_format_that_was_cut_off_says_how_much_is_missing():
    data = saved(torch.ones(100), _use_new_zipfile_serialization=False).getvalue()
    with pytest.raises(RuntimeError, match="unexpected EOF, expected 10 more bytes. The file might be corrupted."):
        torch.load(io.BytesIO(data[:-10]))


def test_settings_of_the_unpickler_are_for_trusted_files():
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        assert torch.load(saved(1), encoding="ascii") == 1
    with pytest.warns(UserWarning), pytest.raises(TypeError, match="unexpected keyword argument 'odd'"):
        torch.load(saved(1), odd=1)


def test_the_environment_is_mentioned_when_it_lifts_the_guard(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert torch.load(saved({1})) == {1}


def test_hooks_are_not_written_and_the_writer_says_so():
    leaf = torch.ones(1, requires_grad=True)
    other = leaf * 2
    for t in (leaf, other):
        t.register_hook(print)
        with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will not be serialized"):
            saved(t)
    leaf = torch.ones(1, requires_grad=True)
    leaf.register_hook(torch.utils.hooks.unserializable_hook(lambda grad: grad))
    assert torch.load(saved(leaf)).requires_grad


def test_tensors_without_data_lose_nothing_by_skipping_it():
    with torch.serialization.skip_data(), pytest.warns(UserWarning, match="is a no-op"):
        file = saved(torch.ones(2, device="meta"))
    assert torch.load(file).is_meta
