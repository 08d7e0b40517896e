"""Parameters as one vector, and back."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.utils import parameters_to_vector, vector_to_parameters


def test_vector_goes_back_to_where_it_came_from() -> None:
    layer = nn.Linear(2, 3)
    vector = parameters_to_vector(layer.parameters())
    assert vector.shape == (9,) and vector.grad_fn is not None
    vector_to_parameters(torch.arange(9.0), layer.parameters())
    assert layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]] and layer.bias.tolist() == [6.0, 7.0, 8.0]
    assert layer.weight.requires_grad


def test_only_tensors_are_vectors() -> None:
    with pytest.raises(TypeError, match="expected torch.Tensor, but got: list"):
        vector_to_parameters([1.0], [])
