"""Weak references to storages."""
from __future__ import annotations

import retrograd as torch
from retrograd.multiprocessing.reductions import StorageWeakRef


def test_views_have_equal_references_that_expire_together() -> None:
    t = torch.ones(4)
    first, second = StorageWeakRef(t.untyped_storage()), StorageWeakRef(t[1:].untyped_storage())
    assert first == second and len({first, second}) == 1 and not first.expired()
    assert first != StorageWeakRef(torch.ones(4).untyped_storage())
    del t
    assert first.expired() and second.expired()
