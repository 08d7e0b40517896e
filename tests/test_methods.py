"""Copies of tensors: what copy.copy, copy.deepcopy and pickle keep, and what they share."""
from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch


def pickled(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("made_again", [copy.copy, pickled])
def test_results_come_back_as_leaves_that_require_grad(made_again: Callable[[Any], Any]) -> None:
    back = made_again(torch.ones(2, requires_grad=True) * 2)
    assert back.requires_grad and back.is_leaf and back.tolist() == [2.0, 2.0]


@pytest.mark.parametrize("made_again", [copy.copy, copy.deepcopy, pickled])
@pytest.mark.parametrize("view", [
    torch.arange(6.0).view(2, 3).t(), torch.arange(6.0)[2:], torch.arange(3.0).expand(2, 3), torch.zeros(0, 3),
    torch.ones(2, 2, dtype=torch.bfloat16).t(),
])
def test_copies_lie_in_memory_as_the_tensor_does(made_again: Callable[[Any], Any], view: Any) -> None:
    back = made_again(view)
    assert back.stride() == view.stride() and back.storage_offset() == view.storage_offset()
    assert back.dtype is view.dtype and back.tolist() == view.tolist()


def test_a_shallow_copy_shares_memory_and_a_deep_one_shares_its_own() -> None:
    whole = torch.arange(4.0)
    shallow = copy.copy(whole[1:])
    whole[1] = 9.0
    assert shallow[0] == 9.0
    first, part = copy.deepcopy([whole, whole[1:]])
    first[2] = 7.0
    assert part.tolist() == [9.0, 7.0, 3.0] and whole[2] == 2.0


def test_lazy_bits_are_pickled_and_applied_by_deep_copies() -> None:
    t = torch.tensor([1 + 2j]).conj()
    assert pickled(t).is_conj() and copy.copy(t).is_conj() and not copy.deepcopy(t).is_conj()
    assert pickled(t).tolist() == copy.deepcopy(t).tolist() == [1 - 2j]
    assert copy.deepcopy(t.imag).tolist() == pickled(t.imag).tolist() == [-2.0]


@pytest.mark.parametrize("made_again", [copy.copy, copy.deepcopy, pickled])
def test_meta_tensors_stay_meta(made_again: Callable[[Any], Any]) -> None:
    assert made_again(torch.ones(2, 3, device="meta")).device.type == "meta"


def test_every_listed_name_of_a_tensor_is_there() -> None:
    torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)      # which adds names
    x = torch.ones(2, 2, dtype=torch.complex64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [name for name in dir(x) if not hasattr(x, name)] == [] and "shape" in dir(x)


def test_requires_grad_is_set_on_leaves_to_a_bool():
    x = torch.ones(3, requires_grad=True)
    for computed in (x * 2, x.view(-1)):
        with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf variables"):
            computed.requires_grad = True
        assert computed.requires_grad_() is computed
    with pytest.raises(RuntimeError, match="requires_grad must be a bool"):
        x.requires_grad = 1


def test_new_tensors_have_the_rank_of_their_memory_format():
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.empty(2, memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="required rank 5 tensor to use channels_last_3d format"):
        torch.empty(1, 2, 3, 4, memory_format=torch.channels_last_3d)
