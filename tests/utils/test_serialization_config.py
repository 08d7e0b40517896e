"""The settings of save and load by name."""
from __future__ import annotations

import io
import zipfile

import pytest

import retrograd as torch
from retrograd.utils.serialization import config


def starts(file: io.BytesIO) -> list[int]:
    archive = zipfile.ZipFile(file)
    return [archive.open(entry)._orig_compress_start for entry in archive.infolist() if "/data/" in entry.filename]


def test_storages_begin_where_the_alignment_says() -> None:
    file = io.BytesIO()
    with config.patch("save.storage_alignment", 4096):
        torch.save([torch.ones(3), torch.zeros(2)], file)
    assert [start % 4096 for start in starts(file)] == [0, 0] and config.save.storage_alignment == 64
    file.seek(0)
    assert torch.load(file)[0].tolist() == [1, 1, 1]


def test_mmap_may_be_the_default(tmp_path) -> None:
    path = tmp_path / "file.pt"
    torch.save(torch.ones(3), path)
    with config.patch({"load.mmap": True}):
        assert torch.load(path).tolist() == [1, 1, 1]
        with pytest.raises(ValueError, match="f must be a file path in order to use the mmap argument"):
            torch.load(io.BytesIO(path.read_bytes()))
        assert torch.load(io.BytesIO(path.read_bytes()), mmap=False).tolist() == [1, 1, 1]


def test_settings_are_those_of_the_functions() -> None:
    torch.serialization.set_crc32_options(False)
    try:
        assert config.save.compute_crc32 is False
    finally:
        config.save.compute_crc32 = True
    assert torch.serialization.get_crc32_options() is True
    assert config.get_config_copy()["load.mmap_flags"] == torch.serialization.get_default_mmap_options()


def test_unknown_setting_is_an_error() -> None:
    with pytest.raises(AttributeError, match="torch.utils.serialization.config.load.speed does not exist"):
        config.load.speed = 1
    with pytest.raises(AttributeError, match="config.save.speed does not exist"):
        config.patch("save.speed", 1)
