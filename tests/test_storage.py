"""Storages as users see them: resized with their tensors, and files in memory."""
from __future__ import annotations

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
