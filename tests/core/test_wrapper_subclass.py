"""Wrapper subclasses: a geometry without memory, whose values only `__torch_dispatch__` knows."""
from __future__ import annotations

import copy
import io
import pickle
import tracemalloc
from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._pytree import tree_map


class Wrapped(torch.Tensor):
    """Holds another tensor and computes on it."""

    seen: list[str] = []

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(str(func))
        args = tree_map(lambda t: t.inner if isinstance(t, Wrapped) else t, args)
        out = func(*args, **(kwargs or {}))
        return Wrapped(out) if isinstance(out, torch.Tensor) else out


@pytest.mark.parametrize("read", [lambda t: t.item(), float, int, complex, lambda t: t.__index__() if t.dtype is torch.int64
                                  else t.item()])
def test_reading_a_number_dispatches(read: Any) -> None:
    Wrapped.seen.clear()
    assert read(Wrapped(torch.tensor([3.0]))) == 3
    assert Wrapped.seen == ["aten._local_scalar_dense.default"]


def test_truth_and_comparison_dispatch() -> None:
    assert not Wrapped(torch.tensor([0.0])) and Wrapped(torch.tensor([2.0]))
    assert torch.equal(Wrapped(torch.tensor([2.0])), Wrapped(torch.tensor([2.0])))
    assert torch.allclose(Wrapped(torch.tensor([2.0])), Wrapped(torch.tensor([2.0])))
    assert repr(Wrapped(torch.tensor([3.0, 1.0]))) == "Wrapped([3., 1.])"


@pytest.mark.parametrize(("read", "text"), [
    (lambda t: t.tolist(), "tolist.. is not supported for tensor subclasses, got Wrapped"),
    (lambda t: t.numpy(), "numpy.. is not supported for tensor subclasses"),
    (lambda t: t.untyped_storage().data_ptr(), "invalid python storage")])
def test_memory_that_is_not_there_is_not_read(read: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        read(Wrapped(torch.tensor([3.0])))
    assert Wrapped(torch.tensor([3.0])).data_ptr() == 0


def test_a_wrapper_takes_no_memory() -> None:
    tracemalloc.start()
    try:
        made = torch.Tensor._make_wrapper_subclass(Wrapped, (10**12,))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert made.shape == (10**12,) and made.stride() == (1,) and peak < 4096


class Slotted(Wrapped):
    """Keeps what it wraps in a slot."""

    __slots__ = ("inner",)


@pytest.mark.parametrize("cls", [Wrapped, Slotted])
def test_copies_and_pickles_keep_what_is_wrapped(cls: Any) -> None:
    x = cls(torch.tensor([1.0, 2.0]))
    twin = pickle.loads(pickle.dumps(x))
    assert type(twin) is cls
    assert twin.inner.tolist() == [1.0, 2.0]
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    assert type(loaded) is cls
    assert loaded.inner.tolist() == [1.0, 2.0]


def test_a_deep_copy_has_its_own_inner_tensor() -> None:
    class Copied(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return cls(func(args[0].inner))
    x = Copied(torch.tensor([1.0]))
    twin = copy.deepcopy(x)
    assert type(twin) is Copied
    assert twin.inner is not x.inner


def test_the_storage_has_an_identity_but_no_bytes() -> None:
    x = Wrapped(torch.ones(2))
    storage = x.untyped_storage()
    assert storage.nbytes() == 8
    assert storage == x.untyped_storage()
    for read in (lambda: storage.data_ptr(), lambda: storage[0], lambda: storage.tolist()):
        with pytest.raises(RuntimeError, match="Attempted to access the data pointer on an invalid python storage"):
            read()


def test_what_dispatch_made_is_not_turned_into_another_class() -> None:
    class Other(torch.Tensor):
        pass
    with pytest.raises(RuntimeError, match="subclass Other but the raw Tensor object is already associated"):
        Wrapped(torch.ones(2)).as_subclass(Other)
    assert type(Wrapped(torch.ones(2)).as_subclass(torch.Tensor)) is Wrapped
