"""Masks in the shape and layout of their inputs, neutral values in place of what is left out, and lists of ops."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.masked import canonical
from retrograd.masked.maskedtensor import matching, packets

LAYOUTS = {"strided": lambda t: t, "coo": lambda t: t.to_sparse(), "csr": lambda t: t.to_sparse_csr()}
DATA = torch.tensor([[1.0, 0.0, 3.0], [4.0, 5.0, 0.0]])
MASK = torch.tensor([[True, False, True], [True, True, False]])


def dense(t) -> torch.Tensor:
    return t if t.layout == torch.strided else t.to_dense()


@pytest.mark.parametrize("of_mask", LAYOUTS)
@pytest.mark.parametrize("of_input", LAYOUTS)
def test_masks_take_the_layout_and_shape_of_inputs(of_input, of_mask) -> None:
    given = LAYOUTS[of_input](DATA)
    for mask in (MASK, MASK[:1]):
        made = canonical.input_mask(given, mask=LAYOUTS[of_mask](mask))
        assert made.layout == given.layout and torch.equal(dense(made), mask.expand(2, 3))
    with pytest.raises(IndexError, match="mask dimensionality higher than of the input"):
        canonical.input_mask(given, mask=MASK[None])
    with pytest.raises(ValueError, match="_input_mask requires explicit mask"):
        canonical.input_mask(given)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("name", "neutral"), [("sum", 0.0), ("prod", 1.0), ("amax", -torch.inf), ("argmin", torch.inf)])
def test_what_is_left_out_is_neutral_or_not_stored(layout, name, neutral) -> None:
    convert = LAYOUTS[layout]
    made = canonical.combine_input_and_mask(getattr(torch.masked, name), convert(DATA), convert(MASK))
    assert made.layout == convert(DATA).layout
    if layout == "strided":
        assert torch.equal(made, DATA.masked_fill(~MASK, neutral))
    else:
        assert torch.equal(made.to_dense(), DATA * MASK) and made._nnz() == 4


def test_gradients_of_combined_masked_tensors_are_masked() -> None:
    with pytest.warns(UserWarning, match="MaskedTensors"):
        given = torch.masked.masked_tensor(DATA, MASK, requires_grad=True)
        canonical.combine_input_and_mask(torch.masked.sum, given, MASK).sum().backward()
    assert torch.equal(given.grad.get_mask(), MASK)


def test_results_are_made_of_something_where_a_mask_keeps_anything() -> None:
    mask = torch.tensor([[True, False, True], [False, False, False]])
    assert canonical.output_mask(torch.masked.sum, DATA, 1, mask=mask).tolist() == [True, False]
    assert canonical.output_mask(torch.masked.norm, DATA, 2.0, 0, keepdim=True, mask=mask).tolist() == [[True, False, True]]
    assert torch.equal(canonical.output_mask(torch.masked.softmax, DATA, 1, mask=mask), mask)
    with pytest.raises(ValueError, match="expected masked operation"):
        canonical.output_mask(torch.add, DATA, mask=mask)


def test_reductions_without_a_neutral_value_have_none() -> None:
    assert canonical.reduction_identity("torch.masked.mean", DATA) is None
    assert canonical.reduction_identity("norm", DATA, -torch.inf).item() == torch.inf
    assert canonical.reduction_identity("median", torch.ones(1).long()).isnan()
    with pytest.raises(NotImplementedError, match=r"identity of amax on torch.bool input"):
        canonical.reduction_identity("amax", torch.ones(1).bool())


def test_masks_and_data_are_compared_by_layout() -> None:
    for convert in LAYOUTS.values():
        assert matching.tensors_match(convert(DATA), convert(DATA))
        assert not matching.tensors_match(convert(DATA), convert(2 * DATA))
    with pytest.raises(ValueError, match="must have the same layout"):
        matching.tensors_match(DATA, DATA.to_sparse())
    with pytest.warns(UserWarning, match="MaskedTensors"):
        a, b = torch.masked.masked_tensor(DATA, MASK), torch.masked.masked_tensor(DATA, ~MASK)
        assert matching.masks_match(a, a) and not matching.masks_match(a, b) and matching.masks_match(a, DATA)
        mapped, named = matching.map_masked([a, (b, 1)], {"x": a}, lambda t: t.get_mask())
        assert torch.equal(mapped[0], MASK) and torch.equal(mapped[1][0], ~MASK) and torch.equal(named["x"], MASK)


def test_lists_name_packets() -> None:
    assert torch.ops.aten.abs in packets.NATIVE_UNARY_FNS and torch.ops.aten.add_ in packets.NATIVE_INPLACE_BINARY_FNS
    assert "maximum_" not in packets.INPLACE_BINARY_NAMES
    assert {each.__name__ for each in packets.NATIVE_REDUCE_FNS} == {
        "sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"}


def test_powers_of_masked_tensors_take_numbers_alone() -> None:
    with pytest.warns(UserWarning, match="MaskedTensors"):
        given = torch.masked.masked_tensor(DATA, MASK)
        assert torch.equal(given.pow(2).get_data()[MASK], DATA[MASK] ** 2)
        for powers in (lambda: given.pow(DATA), lambda: given.pow(given), lambda: torch.pow(2, given)):
            with pytest.raises(TypeError, match="MaskedTensor unary ops do not support additional Tensor arguments"):
                powers()
