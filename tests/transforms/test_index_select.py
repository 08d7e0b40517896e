"""Batched index_select."""
from __future__ import annotations

import retrograd as torch


def test_batched_index_select_gathers() -> None:
    x, index = torch.arange(24.).reshape(2, 3, 4).requires_grad_(), torch.tensor([2, 0])
    assert torch.vmap(lambda x: x.index_select(1, index))(x).equal(x[:, :, [2, 0]])
    assert torch.vmap(lambda x, i: x.index_select(0, i))(x, torch.tensor([[1], [2]])).equal(
        torch.stack([x[0, [1]], x[1, [2]]]))
    assert torch.vmap(lambda i: x.index_select(0, i))(torch.tensor([[1, 0], [0, 0]])).equal(x[torch.tensor([[1, 0], [0, 0]])])
    assert torch.vmap(lambda x: x.index_select(0, index))(x).grad_fn.name() == "GatherBackward0"


def test_index_select_of_numbers_under_vmap() -> None:
    x = torch.arange(3.)
    assert torch.vmap(lambda x: x.index_select(0, torch.tensor([0])))(x).equal(x)


def test_scalar_examples_repeat() -> None:
    index = torch.tensor([0, 0])
    assert torch.vmap(lambda x: x.index_select(0, index))(torch.tensor([2.0, 1.0])).tolist() == [[2, 2], [1, 1]]
