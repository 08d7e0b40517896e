"""Wrapper subclasses: a geometry without memory, whose values only `__torch_dispatch__` knows."""
from __future__ import annotations

import copy
import io
import pickle
import tracemalloc
from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._python_dispatch import return_and_correct_aliasing
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


class Corrected(Wrapped):
    """Holds another tensor, and gives back what its ops write to."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        inner = tree_map(lambda t: t.inner if isinstance(t, cls) else t, args)
        out = func(*inner, **(kwargs or {}))
        return return_and_correct_aliasing(func, args, kwargs or {}, cls(out) if isinstance(out, torch.Tensor) else out)


def test_in_place_changes_of_the_geometry_reach_the_wrapper_and_what_it_wraps() -> None:
    x = Corrected(torch.ones(2, 3))
    assert x.unsqueeze_(0) is x
    assert x.shape == x.inner.shape == (1, 2, 3)
    assert x.resize_(2) is x
    assert x.shape == x.inner.shape == (2,)


def test_a_wrapper_needs_a_size() -> None:
    with pytest.raises(TypeError, match='missing 1 required positional arguments: "size"'):
        torch.Tensor._make_wrapper_subclass(Wrapped)
    with pytest.raises(TypeError, match="argument 'size' .position 2. must be tuple of ints, not int"):
        torch.Tensor._make_wrapper_subclass(Wrapped, 2)


def test_a_parameter_of_another_class_says_so() -> None:
    class Own(torch.Tensor):
        pass
    assert repr(torch.nn.Parameter(torch.ones(1).as_subclass(Own))) == "Parameter(Own([1.], requires_grad=True))"


def test_a_size_that_the_class_gives_is_the_length_too() -> None:
    class Sized(torch.Tensor):
        @staticmethod
        def __new__(cls) -> Any:
            return torch.Tensor._make_wrapper_subclass(cls, (2,), dispatch_sizes_strides_policy="sizes")

        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return (5, 4) if "size" in str(func) else 2 if "dim" in str(func) else NotImplemented
    assert len(Sized()) == 5


@pytest.mark.parametrize("alias", [lambda t: t.detach(), lambda t: t.data])
def test_what_is_detached_from_an_inference_tensor_can_be_written(alias: Any) -> None:
    with torch.inference_mode():
        x = torch.ones(2)
    alias(x).add_(1)
    assert x.tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.add_(1)


def test_strides_of_a_wrapper_are_as_many_as_its_sizes():
    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(RuntimeError, match=r"dimensionality of sizes \(1\) must match dimensionality of strides \(2\)"):
        torch.Tensor._make_wrapper_subclass(Wrapper, (2,), strides=(1, 2))


def test_moves_to_another_device_dispatch():
    class Placed(Wrapped):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            seen.append((str(func), str(kwargs["device"])))
            return func(args[0].inner, **kwargs)
    seen: list[tuple[str, str]] = []
    assert Placed(torch.ones(2)).to("meta").device.type == "meta"
    assert seen == [("aten._to_copy.default", "meta")]
