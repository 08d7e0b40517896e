"""Attributes of the jagged layout are on tensors of that layout only, whether or not `retrograd.nested` is imported."""
from __future__ import annotations

import pytest

import retrograd as torch


@pytest.mark.parametrize("name", ["offsets", "lengths", "_offsets", "_ragged_idx", "_get_max_seqlen"])
def test_only_jagged_tensors_have_the_attributes(name: str) -> None:
    jagged = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert hasattr(jagged, name) and not hasattr(torch.ones(2), name)
    with pytest.raises(AttributeError, match=f"'Tensor' object has no attribute '{name}'"):
        getattr(torch.ones(2), name)
