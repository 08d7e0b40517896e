"""Outputs that no gradient comes from are saved with their version, as all others are."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional

ALONG_A_DIM = [("sort", ()), ("topk", (2,)), ("kthvalue", (2,)), ("median", (0,)), ("nanmedian", (0,)), ("mode", (0,)),
               ("max", (0,)), ("min", (0,)), ("cummax", (0,)), ("cummin", (0,))]
POOLS = [("max_pool1d", 1), ("max_pool2d", 2), ("max_pool3d", 3), ("adaptive_max_pool1d", 1), ("adaptive_max_pool2d", 2),
         ("adaptive_max_pool3d", 3)]
CHANGED = r"modified by an inplace operation: \[torch.(Long|Int)Tensor \[.*\]\] is at version 1; expected version 0"


@pytest.mark.parametrize(("name", "args"), ALONG_A_DIM)
def test_a_write_to_saved_indices_is_refused(name: str, args: Any) -> None:
    x = torch.tensor([3.0, 1.0, 2.0, 5.0], requires_grad=True)
    values, indices = getattr(x, name)(*args)
    indices.zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        values.sum().backward()


@pytest.mark.parametrize(("name", "dims"), POOLS)
def test_a_write_to_the_saved_indices_of_a_pool_is_refused(name: str, dims: int) -> None:
    x = torch.ones(1, 2, *[4] * dims, requires_grad=True)
    values, indices = getattr(functional, name)(x, 2, return_indices=True)
    indices.zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        values.sum().backward()


def test_a_write_to_saved_pivots_is_refused() -> None:
    lu, pivots = torch.linalg.lu_factor(torch.eye(3).requires_grad_())
    pivots.zero_()
    with pytest.raises(RuntimeError, match=CHANGED):
        lu.sum().backward()


def test_indices_that_are_not_modified_give_gradients() -> None:
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, indices = x.sort()
    values[0].backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0] and indices._version == 0
