"""From tables to functions and methods: what is called how, and what a call without some arguments means."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch


def test_functions_of_losses_reduce_only_when_told_to() -> None:
    a, b = torch.tensor([0.5, 0.25]), torch.tensor([0.5, 1.0])
    assert torch.kl_div(a, b).shape == (2,)
    assert torch.kl_div(a, b, 1).shape == torch.kl_div(a, b, reduction=2).shape == ()
    assert torch.ops.aten.kl_div(a, b).shape == ()


def test_the_first_argument_of_a_function_may_be_named() -> None:
    x = torch.ones(2)
    assert torch.sum(input=x).item() == 2
    assert torch.add(input=x, other=x).tolist() == [2, 2]
    assert x.add(other=x).tolist() == [2, 2]



@pytest.mark.parametrize("name", ["min", "max"])
def test_one_element_integer_tensor_is_an_operand_and_no_dim(name: str) -> None:
    function, x = getattr(torch, name), torch.tensor([[3]])
    for other in (torch.tensor([[0]]), torch.tensor([0]), torch.tensor(0)):
        assert function(x, other).tolist() == getattr(x, name)(other).tolist() == [[0 if name == "min" else 3]]
    assert function(x, torch.tensor(0), True).values.tolist() == [[3]]


def test_integers_that_are_no_sizes_are_taken_of_tensors_without_dimensions_only() -> None:
    x = torch.arange(4).view(2, 2)
    assert x.argmax(torch.tensor(0)).tolist() == [1, 1] and x.reshape(torch.tensor([4])).shape == (4,)
    with pytest.raises(TypeError, match=r"argmax\(\): argument 'dim' \(position 1\) must be int, not Tensor"):
        x.argmax(torch.tensor([0]))


def test_objects_that_are_no_tensors_take_over_calls_of_written_functions() -> None:
    class Anything:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> str:
            return func.__name__

    assert torch.broadcast_tensors(Anything(), torch.ones(1)) == "broadcast_tensors"
    assert torch.einsum("ij->ji", Anything()) == "einsum" == torch.einsum("ij,jk->ik", [Anything(), Anything()])
    with pytest.raises(TypeError):
        torch.broadcast_tensors(3, 4)
