"""The parts of vmap under PyTorch's names: results lose their batch dimension, or say that they cannot."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd._functorch import vmap as parts
from retrograd._functorch.vmap import _add_batch_dim, _maybe_remove_batch_dim, vmap_increment_nesting
from retrograd.transforms import vmap as running


def test_result_gets_its_batch_dimension_where_it_was_asked_for() -> None:
    with vmap_increment_nesting(2, "error") as level:
        batched = _add_batch_dim(torch.arange(6.0).reshape(2, 3), 0, level) * 2
        made = _maybe_remove_batch_dim("f", batched, level, 2, 1)
        with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
            _maybe_remove_batch_dim("f", batched, level, 2, None)
        assert _maybe_remove_batch_dim("f", "text", level, 2, None) == "text"
        with pytest.raises(ValueError, match="must only return Tensors, got type <class 'int'>"):
            _maybe_remove_batch_dim("f", 3, level, 2, 0)
    assert made.tolist() == [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]


def test_replaced_parts_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pair:
        """A container that no tree knows."""

        def __init__(self, first: torch.Tensor, second: torch.Tensor) -> None:
            self.first, self.second = first, second

    def process(in_dims: object, args: tuple[Pair], func: object) -> tuple[int, list[int], list[Pair], None]:
        return len(args[0].first), [0], list(args), None

    def create(dims: list[int], args: list[Pair], level: int, spec: None) -> list[Pair]:
        return [Pair(parts._add_batch_dim(p.first, 0, level), parts._add_batch_dim(p.second, 0, level)) for p in args]

    monkeypatch.setattr(running, "PARTS", [])
    monkeypatch.setattr(parts, "PARTS", running.PARTS)
    monkeypatch.setattr(parts, "_process_batched_inputs", process)
    monkeypatch.setattr(parts, "_create_batched_inputs", create)
    pair = Pair(torch.arange(3.0), torch.ones(3, 2))
    assert torch.vmap(lambda p: p.first * p.second.sum())(pair).tolist() == [0, 2, 4]
