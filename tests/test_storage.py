"""Storages as users see them: resized with their tensors, and files in memory."""
from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

import retrograd as torch


def test_resized_storage_takes_its_tensors_along() -> None:
    t = torch.arange(4.0)
    view, memory = t[2:], t.untyped_storage()
    memory.resize_(32)
    assert len(memory) == 32 and t.untyped_storage() is memory and t.tolist() == [0.0, 1.0, 2.0, 3.0]
    view[0] = 9
    assert t.tolist() == [0.0, 1.0, 9.0, 3.0]


def test_storage_can_be_freed_and_filled_again() -> None:
    t = torch.arange(4.0)
    view = t[1:3]
    t.untyped_storage().resize_(0)
    assert t.untyped_storage().nbytes() == 0 and t.shape == (4,)
    t.untyped_storage().resize_(16)
    t.copy_(torch.ones(4))
    assert view.tolist() == [1.0, 1.0] and t.stride() == (1,)


def test_foreign_memory_is_not_resized(tmp_path: Path) -> None:
    for size in (-1,):
        with pytest.raises(RuntimeError, match="cannot have -1 bytes"):
            torch.UntypedStorage(4).resize_(size)
    mapped = torch.UntypedStorage.from_file(tmp_path / "a", True, 8)
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        mapped.resize_(4)


def test_file_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a"
    shared = torch.UntypedStorage.from_file(path, shared=True, nbytes=8)
    shared[0] = 7
    assert path.read_bytes() == b"\x07" + bytes(7) and shared.filename == str(path)
    private = torch.UntypedStorage.from_file(str(path), nbytes=8)
    private[0] = 9
    assert path.read_bytes()[0] == 7 and private.filename is None
    assert len(torch.FloatStorage.from_file(path, False, 2)) == 2
    with pytest.raises(RuntimeError, match="is smaller than the required mapping size <800>"):
        torch.UntypedStorage.from_file(path, False, 800)
    with pytest.raises(RuntimeError, match="unable to open file .* in read-only mode"):
        torch.UntypedStorage.from_file(tmp_path / "b", False, 8)


def test_memory_cannot_be_pinned_and_subclasses_may_say_what_pinning_does_to_them() -> None:
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available."):
        torch.ops.aten._pin_memory.default(torch.ones(2))
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available."):
        torch.ones(2).pin_memory()
    seen = []

    class Counted(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return args[0]

    torch.ones(2).as_subclass(Counted).pin_memory()
    assert seen == [torch.ops.aten._pin_memory.default]


@pytest.mark.parametrize(("make", "error", "text"), [
    (lambda: torch.FloatStorage(1, 2), RuntimeError, "Too many positional arguments"),
    (lambda: torch.FloatStorage(dtype=torch.float), RuntimeError, "Keyword argument 'dtype' cannot be specified"),
    (lambda: torch.FloatStorage(0, wrap_storage=torch.UntypedStorage(4)), RuntimeError, "No positional arguments should be"),
    (lambda: torch.FloatStorage(wrap_storage=[1]), TypeError, "Argument 'wrap_storage' must be UntypedStorage"),
    (lambda: torch.TypedStorage(1, 2, dtype=torch.float), RuntimeError, "TypedStorage.__init__ received an invalid"),
    (lambda: torch.TypedStorage(wrap_storage=torch.UntypedStorage(4)), RuntimeError, "Argument 'dtype' must be specified"),
    (lambda: torch.UntypedStorage("a"), RuntimeError, "one of the items was of type str instead of int"),
    (lambda: torch.UntypedStorage(-1), RuntimeError, "called with negative number"),
    (lambda: torch.UntypedStorage(4)[::2], RuntimeError, "only a step of 1 is supported"),
    (lambda: torch.FloatStorage([1.0])["a"], RuntimeError, "can't index a"),
    (lambda: torch.FloatStorage([1.0]).__setitem__(3, 1.0), IndexError, "index 3 is out of bounds for dimension 0")])
def test_constructors_and_indices_are_checked(make, error, text) -> None:
    with pytest.raises(error, match=text):
        make()


def test_classes_of_storages_are_typed_storages() -> None:
    assert issubclass(torch.FloatStorage, torch.TypedStorage)
    made = torch.FloatStorage([1.0])
    assert isinstance(made, torch.FloatStorage) and not isinstance(made, torch.LongStorage)


def test_storages_that_a_program_made_change_their_size() -> None:
    storage = torch.FloatStorage([1.0, 2.0])
    storage.resize_(3)
    assert storage.tolist() == [1.0, 2.0, 0.0]


def test_storages_move_to_shared_memory_with_their_tensors() -> None:
    t = torch.arange(4.0)
    view = t[2:]
    assert t.untyped_storage().share_memory_().is_shared() and t.is_shared() and view.is_shared()
    t[3] = 9
    assert view.tolist() == [2, 9]


def test_storages_of_meta_tensors_have_a_size_and_no_values() -> None:
    storage = torch.ones(3, device="meta").untyped_storage()
    assert (storage.device, storage.nbytes(), storage.data_ptr()) == (torch.device("meta"), 12, 0)
    assert "device=meta" in repr(storage) and storage.clone().device.type == "meta"
    for read in (storage.tolist, lambda: storage[0], lambda: list(storage)):
        with pytest.raises(NotImplementedError, match="Not available for 'meta' device type"):
            read()
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor; no data!"):
        storage.cpu()
    assert storage.fill_(1) is storage and storage.resize_(20).nbytes() == 20
    typed = torch.TypedStorage(3, dtype=torch.float32, device="meta")
    assert typed.device.type == "meta" and typed.int().dtype == torch.int32 and len(typed.int()) == 3


def test_deprecation_of_typed_storages_warns_once_or_always():
    from retrograd import storage

    def count() -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.ones(1).storage()
            torch.ones(1).storage()
        return len(caught)

    storage._reset_warn_typed_storage_removal()
    assert not storage._get_always_warn_typed_storage_removal() and [count(), count()] == [1, 0]
    storage._set_always_warn_typed_storage_removal(True)
    try:
        assert count() == 2
    finally:
        storage._set_always_warn_typed_storage_removal(False)
    assert count() == 0
