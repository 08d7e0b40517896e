"""Masked tensors: what is not there is not seen by ops, reductions and gradients."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.masked import MaskedTensor, as_masked_tensor, is_masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors")
MASK = torch.tensor([[True, False, True], [False, False, False]])


def masked(requires_grad: bool = False) -> MaskedTensor:
    return torch.masked.masked_tensor(torch.arange(6.0).view(2, 3), MASK, requires_grad=requires_grad)


def test_elements_that_are_not_there_are_dashes() -> None:
    rows = "    [  0.0000,       --,   2.0000],\n    [      --,       --,       --]"
    assert repr(masked()) == f"MaskedTensor(\n  [\n{rows}\n  ]\n)"
    assert repr(masked()[0, 1]) == "MaskedTensor(--, False)"
    assert repr(masked()[0] == 2) == "MaskedTensor(\n  [False,       --, True]\n)"


REDUCTIONS: dict[str, tuple[Callable[[Any], Any], list[float], list[bool]]] = {
    "sum": (lambda x: x.sum(1), [2.0, 0.0], [True, False]),
    "mean": (lambda x: torch.mean(x, 0), [0.0, 0.0, 2.0], [True, False, True]),
    "amax": (lambda x: x.amax(1), [2.0, 0.0], [True, False]),
    "prod": (lambda x: (x + 1).prod(0), [1.0, 1.0, 3.0], [True, False, True]),
    "argmax": (lambda x: x.argmax(1), [2.0, 0.0], [True, False]),
    "all": (lambda x: (x > 1).all(0), [False, True, True], [True, False, True]),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_see_the_elements_that_are_there(name: str) -> None:
    function, data, mask = REDUCTIONS[name]
    result = function(masked())
    assert result.get_mask().tolist() == mask
    there = [value for value, is_there in zip(result.get_data().tolist(), mask, strict=True) if is_there]
    assert there == [value for value, is_there in zip(data, mask, strict=True) if is_there]


def test_variance_counts_the_elements_that_are_there() -> None:
    assert masked().var().item() == 2.0


def test_ops_keep_the_mask() -> None:
    x = masked()
    for result in (x.exp(), x + 1, 1 - x, x * x, x**2, x == x, torch.ones(2, 3) * x, x.softmax(1), x.to(torch.float64), -x):
        assert is_masked_tensor(result) and torch.equal(result.get_mask(), MASK)
    torch.testing.assert_close(x.softmax(1).to_tensor(0.0).sum(1), torch.tensor([1.0, 0.0]))


def test_moves_of_elements_move_the_mask() -> None:
    x = masked()
    assert torch.equal(x.view(3, 2).get_mask(), MASK.view(3, 2))
    assert torch.equal(x.transpose(0, 1).get_mask(), MASK.T)
    assert torch.equal(torch.cat([x, x]).get_mask(), torch.cat([MASK, MASK]))
    assert torch.equal(x[:, 1:].get_mask(), MASK[:, 1:])
    assert [part.get_mask().tolist() for part in x.split(1)] == [[row] for row in MASK.tolist()]


def test_writes_in_place_keep_the_object() -> None:
    x = masked()
    assert x.add_(1) is x and x.sqrt_() is x
    assert x.to_tensor(-1.0)[0].tolist() == [1.0, -1.0, pytest.approx(3**0.5)]


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "sum of squares": lambda t: (t * t).sum(), "mean of exp": lambda t: t.exp().mean(), "prod": lambda t: t.prod(),
    "amax": lambda t: t.amax(), "std": lambda t: t.std(), "rows": lambda t: t.view(2, 2).sum(1).sum(),
    "plain": lambda t: t.to_tensor(0.0).sum(), "data": lambda t: t.get_data().sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_those_of_the_elements_that_are_there(name: str) -> None:
    mask = torch.tensor([True, False, True, True])
    values = torch.tensor([1.0, 2.0, 3.0, 4.0])
    leaf = torch.masked.masked_tensor(values, mask, requires_grad=True)
    GRADIENTS[name](leaf).backward()
    assert is_masked_tensor(leaf.grad) and torch.equal(leaf.grad.get_mask(), mask)
    source = values.clone().requires_grad_()
    GRADIENTS[name](as_masked_tensor(source, mask)).backward()
    torch.testing.assert_close(source.grad.to_tensor(0.0), leaf.grad.to_tensor(0.0))
    if name in ("sum of squares", "mean of exp", "std", "prod", "amax"):
        few = values[mask].requires_grad_()
        GRADIENTS[name](few).backward()
        torch.testing.assert_close(leaf.grad.get_data()[mask], few.grad)


def test_elements_under_the_mask_do_not_spoil_gradients() -> None:
    x = torch.masked.masked_tensor(torch.tensor([0.0, 4.0]), torch.tensor([False, True]), requires_grad=True)
    x.sqrt().sum().backward()
    assert x.grad.to_tensor(-1.0).tolist() == [-1.0, 0.25]


def test_what_does_not_belong_together_is_refused() -> None:
    x = masked()
    with pytest.raises(ValueError, match="Input masks must match"):
        x + torch.masked.masked_tensor(torch.ones(2, 3), ~MASK)
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        torch.masked.masked_tensor(torch.ones(2), torch.ones(2))
    with pytest.raises(ValueError, match=r"data.size\(\) must equal mask.size\(\)"):
        torch.masked.masked_tensor(torch.ones(2), torch.ones(3) > 0)
    with pytest.raises(TypeError, match="data must be a Tensor"):
        torch.masked.masked_tensor(x, MASK)
    with pytest.raises(TypeError, match="aten.mm.default"):
        x.matmul(x.transpose(0, 1))


def test_creating_one_warns_of_the_prototype() -> None:
    with pytest.warns(UserWarning, match="prototype stage"):
        MaskedTensor(torch.ones(1), torch.tensor([True]))
