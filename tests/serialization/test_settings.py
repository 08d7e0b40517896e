"""Where storages go, what is skipped, which names files may use, and what the environment says about it."""
from __future__ import annotations

import copy
import io
import zipfile
from typing import Any

import pytest

import retrograd as torch
from retrograd import serialization


def written(obj: Any, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("place", ["meta", torch.device("meta"), {"cpu": "meta"}], ids=str)
def test_tensors_can_be_loaded_without_data(place: Any, zipped: bool) -> None:
    found = torch.load(written([torch.ones(2, 3), torch.tensor([True])], _use_new_zipfile_serialization=zipped), place)
    assert [t.is_meta for t in found] == [True, True] and found[0].shape == (2, 3) and found[1].dtype is torch.bool


def test_map_location_must_mean_a_place() -> None:
    with pytest.raises(TypeError, match="'int' object is not callable"):
        torch.load(written(torch.ones(1)), 5)
    with pytest.raises(TypeError, match="must return a storage"):
        torch.load(written(torch.ones(1)), lambda storage, location: 3)
    with pytest.raises(RuntimeError, match="don't know how to restore data location of torch.storage.UntypedStorage"):
        torch.load(written(torch.ones(1)), "elsewhere")


def test_data_can_be_left_out() -> None:
    with serialization.skip_data():
        file = written({"a": torch.ones(2), "b": 3})
        with pytest.raises(RuntimeError, match="Cannot use skip_data=True"):
            written(torch.ones(1), _use_new_zipfile_serialization=False)
    found = torch.load(file)
    assert found["a"].tolist() == [0, 0] and found["b"] == 3
    with serialization.skip_data():
        assert torch.load(written(torch.ones(2))).shape == (2,)


def test_archives_carry_a_number_for_their_content() -> None:
    def number(obj: Any) -> bytes:
        with zipfile.ZipFile(written(obj)) as archive:
            return archive.read("archive/.data/serialization_id")
    assert len(number(torch.ones(2))) == 40
    assert number(torch.ones(2)) == number(torch.ones(2)) != number(torch.zeros(2))


def test_objects_in_the_older_format_can_follow_each_other() -> None:
    file = io.BytesIO()
    for value in (1.0, 2.0):
        torch.save(torch.full((2,), value), file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert torch.load(file).tolist() == [1, 1] and torch.load(file).tolist() == [2, 2]


class Rebuilt:
    def __init__(self, value: Any) -> None:
        self.value = value


class Chosen(torch.Tensor):
    def __reduce_ex__(self, protocol: Any) -> Any:
        return Rebuilt, (7,)


def test_a_subclass_decides_how_it_is_saved() -> None:
    assert torch.load(written(torch.ones(1).as_subclass(Chosen)), weights_only=False).value == 7


def test_the_environment_decides_what_files_may_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert torch.load(written(Rebuilt(1))).value == 1
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(written(Rebuilt(1)), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(RuntimeError, match="Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or"):
        torch.load(written(1))
    monkeypatch.delenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    with pytest.raises(Exception, match="Weights only load failed"):
        torch.load(written(Rebuilt(1)), weights_only=False)


def test_files_of_the_older_format_cannot_be_inspected() -> None:
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by torch.save"):
        serialization.get_unsafe_globals_in_checkpoint(written(1, _use_new_zipfile_serialization=False))


def test_versions_of_modules_are_compared() -> None:
    class Module:
        __name__, __version__ = "some", "1.2.3"
    assert serialization.check_module_version_greater_or_equal(Module, (1, 2))
    assert not serialization.check_module_version_greater_or_equal(Module, (1, 3))
    Module.__version__ = "a.b"
    with pytest.raises(RuntimeError, match="module version string is malformed 'a.b'"):
        serialization.check_module_version_greater_or_equal(Module, (1, 3))
    with pytest.warns(UserWarning, match="continuing assuming that requirement is met"):
        assert serialization.check_module_version_greater_or_equal(Module, (1, 3), error_if_malformed=False)


def test_deep_copies_of_subclasses_go_by_new_empty() -> None:
    class Plain(torch.Tensor):
        pass

    class Knowing(torch.Tensor):
        def new_empty(self, shape: Any, **options: Any) -> Any:
            return super().new_empty(shape).as_subclass(Knowing)
    with pytest.raises(RuntimeError, match="for non-wrapper subclasses only works for subclass types that implement new_empty"):
        copy.deepcopy(torch.ones(1).as_subclass(Plain))
    x = torch.ones(2, 3).as_subclass(Knowing)
    x.tag = ["here"]        # type: ignore[attr-defined]
    twin = copy.deepcopy(x)
    assert type(twin) is Knowing and twin.shape == (2, 3) and twin.tag == ["here"] and twin.tag is not x.tag
    assert twin.data_ptr() != x.data_ptr()
