"""torch.hub: repositories in folders and checkpoints in files; the network is refused."""
from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import retrograd as torch
from retrograd import hub

CONF = '''
import helper
dependencies = ["numpy"]
def net(size=2):
    """A layer."""
    return helper.make(size)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    hub.set_dir(tmp_path / "hub")
    yield tmp_path
    hub.Settings.folder = None


def test_local_repositories_are_loaded(folder: Path) -> None:
    (folder / "hubconf.py").write_text(CONF)
    (folder / "helper.py").write_text("import retrograd as torch\ndef make(size):\n    return torch.nn.Linear(size, 1)\n")
    assert hub.load(str(folder), "net", 3, source="local").in_features == 3
    assert hub.list(str(folder), source="local") == ["net"] and hub.help(str(folder), "net", source="local") == "A layer."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(str(folder), "other", source="local")


def test_missing_dependencies_are_named(folder: Path) -> None:
    (folder / "hubconf.py").write_text("dependencies = ['numpy', 'no_such_package']\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package"):
        hub.list(str(folder), source="local")


def test_the_network_is_refused(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="retrograd does not use the network"):
        hub.load("pytorch/vision", "resnet18")
    with pytest.raises(RuntimeError, match=r"retrograd does not use the network. Put the file at .*x\.pth"):
        hub.load_state_dict_from_url("https://example.com/x.pth")


def test_checkpoints_come_from_files_and_are_kept(folder: Path) -> None:
    source = folder / "weights.pth"
    torch.save({"w": torch.ones(2)}, source)
    assert hub.load_state_dict_from_url(source.as_uri())["w"].tolist() == [1, 1]
    source.unlink()
    assert hub.load_state_dict_from_url("https://example.com/weights.pth")["w"].tolist() == [1, 1]


def test_hashes_are_checked(folder: Path) -> None:
    source = folder / "data.bin"
    source.write_bytes(b"abc")
    digest = hashlib.sha256(b"abc").hexdigest()
    hub.download_url_to_file(source.as_uri(), str(folder / "copy"), digest[:8])
    assert (folder / "copy").read_bytes() == b"abc"
    with pytest.raises(RuntimeError, match=f'invalid hash value \\(expected "0000", got "{digest}"\\)'):
        hub.download_url_to_file(source.as_uri(), str(folder / "other"), "0000")
