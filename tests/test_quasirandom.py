"""Sobol sequences: the points are PyTorch's, scrambled ones too."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.quasirandom import SobolEngine


def test_points_are_pytorchs() -> None:
    assert SobolEngine(5).draw(4).tolist() == [[0.0] * 5, [0.5] * 5, [0.75, 0.25, 0.25, 0.25, 0.75],
                                               [0.25, 0.75, 0.75, 0.75, 0.25]]


def test_scrambled_points_come_from_the_seed() -> None:
    engine = SobolEngine(3, scramble=True, seed=4)
    first = engine.draw(4)
    assert torch.equal(first, SobolEngine(3, scramble=True, seed=4).draw(4)) and not torch.equal(first, SobolEngine(3).draw(4))
    assert torch.equal(engine.reset().draw(4), first)


def test_points_can_be_left_out() -> None:
    engine = SobolEngine(2)
    assert torch.equal(engine.fast_forward(3).draw(2), SobolEngine(2).draw(5)[3:]) and engine.num_generated == 5
    with pytest.raises(ValueError, match="require n to be a power of 2"):
        engine.draw_base2(1)
    assert engine.draw(1, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
        SobolEngine(0)


def test_every_dimension_is_balanced() -> None:
    points = SobolEngine(20).draw_base2(6)
    assert torch.equal((points < 0.5).sum(0), torch.full((20,), 32))
