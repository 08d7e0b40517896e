"""Dictionaries by identity that forget keys that are gone."""
from __future__ import annotations

import retrograd as torch
from retrograd.utils.weak import WeakTensorKeyDictionary


def test_tensors_are_keys_by_identity_and_are_forgotten() -> None:
    a, b = torch.ones(2), torch.ones(2)
    table = WeakTensorKeyDictionary()
    table[a], table[b] = 1, 2
    assert table[a] == 1 and table[b] == 2 and a in table and torch.ones(2) not in table
    del b
    assert len(table) == 1 and next(iter(table)) is a and table.copy()[a] == 1
    del table[a]
    assert a not in table
