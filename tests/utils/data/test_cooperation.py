"""Datasets as parts of other classes."""
from __future__ import annotations

import retrograd as torch


def test_datasets_call_the_next_constructor() -> None:
    class Counted:
        def __init__(self) -> None:
            self.count = 0

    class Both(torch.utils.data.ConcatDataset, Counted):
        pass

    assert Both([[1, 2], [3]]).count == 0
