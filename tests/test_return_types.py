"""The types of results with named fields."""
from __future__ import annotations

import pytest

import retrograd as torch


def test_types_are_found_by_the_name_of_the_function() -> None:
    x = torch.tensor([2.0, 1.0])
    assert isinstance(torch.sort(x), torch.return_types.sort) and isinstance(torch.max(x, 0), torch.return_types.max)
    with pytest.raises(AttributeError):
        torch.return_types.sin  # noqa: B018
