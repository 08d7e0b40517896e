"""Histograms at the edges."""
from __future__ import annotations

import retrograd as torch


def test_equal_elements_get_bins_around_them() -> None:
    hist, edges = torch.histogram(torch.tensor([1.0, 1.0]), 2)
    assert (hist.tolist(), edges.tolist()) == ([0.0, 2.0], [0.5, 1.0, 1.5])


def test_no_elements_get_bins_of_the_unit_interval() -> None:
    hist, edges = torch.histogram(torch.tensor([]), 2)
    assert (hist.tolist(), edges.tolist()) == ([0.0, 0.0], [0.0, 0.5, 1.0])


def test_gradient_of_weights_is_that_of_their_bins() -> None:
    weight = torch.ones(4, requires_grad=True)
    hist, _ = torch.histogram(torch.tensor([0.5, 1.5, 9.0, 2.0]), torch.tensor([0.0, 1.0, 2.0]), weight=weight)
    hist.backward(torch.tensor([10.0, 20.0]))
    assert weight.grad.tolist() == [10.0, 20.0, 0.0, 20.0]      # outside of all bins nothing counts; the last has both edges


def test_edges_are_counted_from_the_nearer_end() -> None:
    x = torch.tensor([0.02], dtype=torch.float64)
    hist, edges = torch.histogram(x, 2)
    assert edges.tolist() == torch.linspace(0.02 - 0.5, 0.02 + 0.5, 3, dtype=torch.float64).tolist()
    assert edges[1] > x and hist.tolist() == [1.0, 0.0]
