"""Versions of loaded tensors."""
from __future__ import annotations

import copy
import io
import pickle

import retrograd as torch


def test_copied_and_loaded_tensors_count_one_write() -> None:
    x = torch.arange(2.)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    assert [t._version for t in (torch.load(file), copy.copy(x), pickle.loads(pickle.dumps(x)))] == [1, 1, 1]
