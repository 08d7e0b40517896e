"""The types of results with named fields."""
from __future__ import annotations

import pytest

import retrograd as torch


def test_types_are_found_by_the_name_of_the_function() -> None:
    x = torch.tensor([2.0, 1.0])
    assert isinstance(torch.sort(x), torch.return_types.sort) and isinstance(torch.max(x, 0), torch.return_types.max)
    with pytest.raises(AttributeError):
        torch.return_types.sin  # noqa: B018


def test_results_in_given_tensors_have_types_of_their_own() -> None:
    x, outs = torch.tensor([[1.0, 3.0], [2.0, 0.0]]), (torch.empty(2), torch.empty(2, dtype=torch.int64))
    found = torch.max(x, 0, out=outs)
    assert type(found) is torch.return_types.max_out and found.values is outs[0] and found.indices is outs[1]
    assert repr(found).startswith("torch.return_types.max_out(")


def test_types_are_listed() -> None:
    names = dir(torch.return_types)
    assert {"max", "max_out", "linalg_svd", "linalg_svd_out", "histogramdd", "sort_out"} <= set(names)
    assert "histogramdd_out" not in names and torch.return_types.topk in torch.return_types.all_return_types
