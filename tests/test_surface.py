"""Small parts of PyTorch's surface: storages, devices that are not there, back ends, test helpers, trees."""
from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from contextlib import nullcontext
from typing import Any

import pytest

import retrograd as torch
from retrograd.testing import assert_close, make_tensor
from retrograd.utils import _pytree as pytree


# ---- storages
def test_typed_storage_shares_memory_with_its_tensor() -> None:
    t = torch.arange(6.0).reshape(2, 3)
    with pytest.warns(UserWarning, match="TypedStorage is deprecated") if not warned() else nullcontext():
        storage = t[1].storage()
    assert len(storage) == storage.size() == 6 and storage[4] == 4.0 and storage.dtype is torch.float32
    assert storage.data_ptr() == t.data_ptr() and storage.untyped() is t.untyped_storage()
    storage[0] = 9
    assert t[0, 0] == 9 and storage.tolist() == [9, 1, 2, 3, 4, 5]
    with pytest.raises(IndexError, match="index 10 out of range for storage of size 6"):
        storage[10]
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
        storage[1:2]


def warned() -> bool:
    return torch.storage.Warned.deprecated


def test_untyped_storage_is_bytes() -> None:
    t = torch.ones(2)
    storage = t.untyped_storage()
    assert storage.nbytes() == 8 and storage[3] == 63 and storage.device == torch.device("cpu")
    storage.fill_(0)
    assert t.tolist() == [0.0, 0.0]
    storage.copy_(torch.tensor([1.0, 2.0]).untyped_storage())
    assert t.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="size does not match, self was 8 bytes but src was 4 bytes"):
        storage.copy_(torch.ones(1).untyped_storage())
    assert storage.resize_(8) is storage
    assert len(storage.resize_(16)) == 16 and t.tolist() == [1.0, 2.0]


def test_storage_types_make_storages() -> None:
    assert torch.FloatStorage([1, 2]).tolist() == [1.0, 2.0] and len(torch.LongStorage(3)) == 3
    assert isinstance(torch.FloatStorage(1), torch.FloatStorage) and not isinstance(torch.FloatStorage(1), torch.LongStorage)
    assert torch.FloatStorage(1).type() == "torch.FloatStorage" and torch.FloatStorage([1.5]).long().tolist() == [1]


@pytest.mark.parametrize("make", [lambda: torch.randn(24), lambda: torch.randn(24, dtype=torch.float16), lambda: torch.rand(33),
                                  lambda: torch.multinomial(torch.ones(5), 3)])
def test_random_tensor_has_a_storage_of_its_own_size(make: Any) -> None:
    t = make()
    assert t.untyped_storage().nbytes() == t.nbytes


# ---- devices
def test_missing_device_is_an_error() -> None:
    for make in (lambda: torch.ones(2, device="cuda"), lambda: torch.ones(2).cuda(), lambda: torch.ones(2).to("cuda:1"),
                 lambda: torch.tensor([1], device="cuda"), lambda: torch.rand(2, device="cuda"), torch.cuda.synchronize):
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            make()
    assert not torch.cuda.is_available() and torch.cuda.device_count() == 0 and not torch.backends.mkldnn.is_available()
    assert not hasattr(torch.ones(1), "__cuda_array_interface__") and not hasattr(torch, "no_such_module")


# ---- comparing and making tensors
def test_difference_is_described() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_close([torch.tensor([1.0, 2.0, 3.0])], [torch.tensor([1.0, 2.5, 3.0])])
    assert str(caught.value) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)\n\n"
        "The failure occurred for item [0]")


def test_kinds_are_told_apart() -> None:
    assert_close({"a": (1, None, 2.0)}, {"a": (1, None, 2.0)})
    with pytest.raises(AssertionError, match="attribute 'dtype' do not match: torch.float32 != torch.float64"):
        assert_close(torch.ones(1), torch.ones(1).double())
    with pytest.raises(AssertionError, match="attribute 'shape'"):
        assert_close(torch.ones(1), torch.ones(2))
    with pytest.raises(TypeError, match="No comparison pair"):
        assert_close(torch.ones(1), 1.0)
    with pytest.raises(ValueError, match="must be either specified or omitted"):
        assert_close(1.0, 1.0, rtol=1.0)


def test_made_tensor_has_what_was_asked_for() -> None:
    t = make_tensor((3, 4), dtype=torch.float64, device="cpu", low=2, high=3, noncontiguous=True, requires_grad=True)
    assert t.stride() == (8, 2) and t.requires_grad and bool(((t >= 2) & (t < 3)).all())
    assert 0 not in make_tensor(100, dtype=torch.int8, device="cpu", low=-1, high=2, exclude_zero=True)
    with pytest.raises(ValueError, match="not supported for boolean and integral dtypes"):
        make_tensor(1, dtype=torch.int64, device="cpu", requires_grad=True)


# ---- trees
Point = namedtuple("Point", "x y")


def test_every_container_is_put_together_again() -> None:
    tree = {"a": [1, (2, None)], "p": Point(3, 4), "o": OrderedDict(x=5), "d": defaultdict(int, q=6), "q": deque([7], maxlen=3)}
    leaves, spec = pytree.tree_flatten(tree)
    assert leaves == [1, 2, None, 3, 4, 5, 6, 7] and spec.num_leaves == 8
    back = pytree.tree_unflatten(leaves, spec)
    assert back == tree and isinstance(back["p"], Point) and back["d"].default_factory is int and back["q"].maxlen == 3
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)][3:5] == ["['p'].x", "['p'].y"]


def test_mismatch_between_trees_is_described() -> None:
    with pytest.raises(ValueError, match="Node type mismatch; expected <class 'tuple'>, but got <class 'list'>"):
        pytree.tree_map(max, [(1,)], [[1]])
    with pytest.raises(ValueError, match="Node arity mismatch; expected 2, but got 3"):
        pytree.tree_map(max, [1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="Node keys mismatch"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure([1, 2]))


def test_results_of_ops_are_containers() -> None:
    found = pytree.tree_map(lambda t: t * 2, torch.max(torch.tensor([[1.0, 2.0]]), 1))
    assert type(found).__name__ == "max" and found.values.item() == 4.0
