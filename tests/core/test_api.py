"""From tables to functions and methods: what is called how, and what a call without some arguments means."""
from __future__ import annotations

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
