"""In-place list ops in all their forms write what the ops for one tensor write."""
from __future__ import annotations

import pytest

import retrograd as torch


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "minimum", "clamp_max", "clamp_min"])
@pytest.mark.parametrize("other", [2, 2.5, [2.0, 3.0], "tensors"], ids=["int", "float", "numbers", "tensors"])
def test_in_place_forms_agree_with_functional_ones(name: str, other) -> None:
    lists = [torch.tensor([0.5, 2.0, 4.0]), torch.ones(2, 2)]
    if other == "tensors":
        other = [torch.full((3,), 2.0), torch.full((2, 2), 3.0)]
    expected = getattr(torch, f"_foreach_{name}")(lists, other)
    written = [t.clone() for t in lists]
    getattr(torch, f"_foreach_{name}_")(written, other)
    for got, wanted in zip(written, expected, strict=True):
        assert torch.equal(got, wanted)


def test_in_place_overloads_are_named_as_in_pytorch() -> None:
    assert {"Scalar", "Tensor"} <= set(torch.ops.aten.pow_.overloads())
    assert {"Tensor", "Tensor_Scalar"} <= set(torch.ops.aten.bitwise_left_shift_.overloads())


def test_lists_are_called_self_in_errors() -> None:
    with pytest.raises(TypeError, match=r"_foreach_abs\(\): argument 'self' \(position 1\) must be tuple of Tensors"):
        torch._foreach_abs(torch.ones(2))


def test_lists_and_scalars_of_other_lengths_are_refused_in_their_own_words():
    lists = [torch.ones(2), torch.zeros(3)]
    with pytest.raises(RuntimeError, match="Expected length of scalars to match input of length 2 but got 3 instead"):
        torch._foreach_addcmul(lists, lists, lists, torch.ones(3))
    with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors, got 2 and 1"):
        torch._foreach_lerp(lists, lists, lists[:1])
    with pytest.raises(RuntimeError, match="Tensor list must have same number of elements as scalar list"):
        torch._foreach_addcmul(lists, lists, lists, [1, 2, 3])
