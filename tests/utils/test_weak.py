"""Dictionaries by identity that forget keys that are gone."""
from __future__ import annotations

import copy

import pytest

import retrograd as torch
from retrograd.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakTensorKeyDictionary, _WeakHashRef


def test_tensors_are_keys_by_identity_and_are_forgotten() -> None:
    a, b = torch.ones(2), torch.ones(2)
    table = WeakTensorKeyDictionary()
    table[a], table[b] = 1, 2
    assert table[a] == 1 and table[b] == 2 and a in table and torch.ones(2) not in table
    del b
    assert len(table) == 1 and next(iter(table)) is a and table.copy()[a] == 1
    del table[a]
    assert a not in table


def test_dictionaries_are_copied_and_joined() -> None:
    a, b, values = torch.ones(2), torch.ones(2), [1]
    table = WeakTensorKeyDictionary({a: values})
    assert copy.copy(table)[a] is values and copy.deepcopy(table)[a] == values and copy.deepcopy(table)[a] is not values
    assert len(table | {b: 2}) == 2 == len({b: 2} | table) and len(table) == 1 and type({b: 2} | table) is WeakIdKeyDictionary
    table |= {b: 3}
    assert table[b] == 3 and table.popitem()[0] is b and len(table) == 1
    with pytest.raises(TypeError):
        table | 3


def test_keys_may_be_compared_by_value() -> None:
    class Key:
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Key)

        def __hash__(self) -> int:
            return 7

    first, second = Key(), Key()
    table = WeakIdKeyDictionary({first: 1}, ref_type=_WeakHashRef)
    table[second] = 2
    assert len(table) == 1 and table[first] == 2 and table.copy()[second] == 2
    gone = _WeakHashRef(Key())
    assert hash(gone) == 7 and gone() is None and gone != _WeakHashRef(first)


def test_only_tensors_have_tensor_references() -> None:
    with pytest.raises(AssertionError, match="expected torch.Tensor, got <class 'int'>"):
        TensorWeakRef(1)
