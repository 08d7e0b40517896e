"""Gradients of tensors of which only some parts were used."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch

WAYS: dict[str, Any] = {
    "unbind": lambda x, dim: x.unbind(dim), "split": lambda x, dim: x.split(2, dim), "chunk": lambda x, dim: x.chunk(3, dim),
    "split_with_sizes": lambda x, dim: x.split_with_sizes([1, 0, 2, x.shape[dim] - 3], dim),
    "tensor_split": lambda x, dim: x.tensor_split(4, dim)}


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("way", WAYS)
def test_parts_without_gradients_get_zeros(way: str, dim: int) -> None:
    count = len(WAYS[way](torch.zeros(6, 7, 5), dim))
    for used in ([0], [count - 1], [0, count - 1], [count // 2], list(range(count))):
        x = torch.randn(6, 7, 5, dtype=torch.float64, requires_grad=True)
        parts = WAYS[way](x, dim)
        total = sum([(parts[i] ** 2).sum() * (i + 1) for i in used])
        made, = torch.autograd.grad(total, x, create_graph=True)
        wanted = torch.zeros(6, 7, 5, dtype=torch.float64)
        for i in used:
            WAYS[way](wanted, dim)[i].copy_(2 * (i + 1) * WAYS[way](x.detach(), dim)[i])
        assert torch.equal(made.detach(), wanted)
        again, = torch.autograd.grad(made.sum(), x)
        assert torch.allclose(again, torch.where(wanted != 0, wanted / x.detach(), wanted), rtol=1e-12)
