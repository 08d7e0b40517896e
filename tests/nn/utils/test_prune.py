"""Pruning masks, again and again, and what is left when they are removed."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.nn.utils import prune


def layer(values: list[list[float]]) -> Any:
    made = nn.Linear(len(values[0]), len(values))
    made.weight.data = torch.tensor(values)
    return made


def test_smallest_entries_go_first_and_gradients_are_masked() -> None:
    made = prune.l1_unstructured(layer([[1.0, -4.0], [3.0, -2.0]]), "weight", 2)
    assert made.weight.tolist() == [[0.0, -4.0], [3.0, 0.0]]
    assert sorted(made.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    made(torch.ones(2)).sum().backward()
    assert made.weight_orig.grad.tolist() == [[0.0, 1.0], [1.0, 0.0]]


def test_pruning_again_works_on_what_is_left() -> None:
    made = layer([[1.0, -4.0], [3.0, -2.0], [5.0, 6.0]])
    prune.l1_unstructured(made, "weight", 1)
    prune.ln_structured(made, "weight", 1, n=2, dim=0)
    assert made.weight_mask.tolist() == [[0.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    [hook] = made._forward_pre_hooks.values()
    assert isinstance(hook, prune.PruningContainer) and len(hook) == 2 and isinstance(hook[1], prune.LnStructured)
    assert prune.is_pruned(nn.Sequential(made))
    value = made.weight.detach().clone()
    prune.remove(made, "weight")
    assert torch.equal(made.weight, value) and isinstance(made.weight, nn.Parameter) and not prune.is_pruned(made)
    with pytest.raises(ValueError, match="Parameter 'weight' of module .* has to be pruned before pruning can be removed"):
        prune.remove(made, "weight")


def test_random_masks_are_pytorchs() -> None:
    made = layer([[1.0] * 4] * 3)
    torch.manual_seed(5)
    prune.random_structured(made, "weight", 0.34, 0)
    prune.random_unstructured(made, "weight", 2)
    assert made.weight_mask.tolist() == [[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 1.0]]


def test_parameters_compete_globally() -> None:
    one, other = layer([[1.0, 4.0]]), layer([[2.0, 3.0]])
    prune.global_unstructured([(one, "weight"), (other, "weight")], prune.L1Unstructured, amount=0.5)
    assert one.weight_mask.tolist() == [[0.0, 1.0]] and other.weight_mask.tolist() == [[0.0, 1.0]]
    with pytest.raises(TypeError, match='Only "unstructured" PRUNING_TYPE supported'):
        prune.global_unstructured([(one, "weight")], prune.LnStructured, amount=1, n=2)


@pytest.mark.parametrize(("amount", "error", "text"), [
    (-1, ValueError, "should either be a float in the range"),
    (1.5, ValueError, "should either be a float in the range"),
    ("x", TypeError, "Invalid type for amount: x. Must be int or float."),
    (100, ValueError, "amount=100 should be smaller than the number of parameters to prune=4"),
])
def test_bad_amounts_are_refused_and_leave_the_module_alone(amount: Any, error: type[Exception], text: str) -> None:
    made = layer([[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(error, match=text):
        prune.l1_unstructured(made, "weight", amount)
    assert sorted(made._parameters) == ["bias", "weight"] and not made._buffers


def test_channels_need_a_dimension() -> None:
    with pytest.raises(ValueError, match="Structured pruning can only be applied to multidimensional tensors"):
        prune.random_structured(layer([[1.0]]), "bias", 1, 0)
    with pytest.raises(IndexError, match="Invalid index 3 for tensor of size"):
        prune.random_structured(layer([[1.0]]), "weight", 1, 3)


def test_tensor_can_be_pruned_without_a_module() -> None:
    assert prune.L1Unstructured(2).prune(torch.tensor([3.0, -1.0, 2.0, 0.5])).tolist() == [3.0, 0.0, 2.0, 0.0]
