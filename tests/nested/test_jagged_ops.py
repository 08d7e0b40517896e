"""Ops on jagged tensors beyond the elementwise ones: reductions, pieces, shapes, products, holes, files."""
from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import nested
from retrograd.nested._internal.ops import inside
from retrograd.nn import functional as F


def make(*inner: int, lengths: tuple[int, ...] = (2, 3, 1), seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return nested.nested_tensor([torch.randn(n, *inner, dtype=torch.float64, generator=generator) for n in lengths],
                                layout=torch.jagged)


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin, "prod": torch.prod,
    "argmax": torch.argmax, "argmin": torch.argmin, "any": torch.any, "all": torch.all,
    "max": lambda t, *args, **kw: torch.max(t, *args, **kw)[0], "min": lambda t, *args, **kw: torch.min(t, *args, **kw)[1],
}


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_over_the_ragged_dimension_reduces_every_part(name: str, keepdim: bool) -> None:
    nt, function = make(4), REDUCTIONS[name]
    expected = torch.stack([function(part, 0, keepdim=keepdim) for part in nt.unbind()])
    made = function(nt, 1, keepdim=keepdim)
    assert not made.is_nested and torch.allclose(made, expected)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_reduction_over_another_dimension_stays_ragged(name: str) -> None:
    nt, function = make(4), REDUCTIONS[name]
    made = function(nt, 2)
    assert made.shape == (3, nt.shape[1])
    for part, source in zip(made.unbind(), nt.unbind(), strict=True):
        assert torch.allclose(part, function(source, 1))


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin"])
def test_a_reduction_over_parts_and_ragged_dimension_is_one_of_the_values(name: str) -> None:
    nt = make(4)
    assert torch.allclose(REDUCTIONS[name](nt, (0, 1)), REDUCTIONS[name](nt.values(), 0))
    assert torch.allclose(REDUCTIONS[name](nt, (0, 1, 2)), REDUCTIONS[name](nt.values()))


@pytest.mark.parametrize("name", ["sum", "amax", "prod", "any", "argmax"])
def test_parts_cannot_be_reduced_without_the_ragged_dimension(name: str) -> None:
    with pytest.raises(RuntimeError, match=f"{name}\\(\\): reducing along the batch dimension but not the ragged dimension"):
        REDUCTIONS[name](make(4), 0)


def test_ragged_and_inner_dimensions_cannot_be_reduced_together() -> None:
    with pytest.raises(RuntimeError, match=r"sum\(\): reducing along a ragged and non-batch dimension"):
        make(4).sum((1, 2))


BY_PART: dict[str, Callable[[Any], Any]] = {
    "chunk": lambda t: t.chunk(2, -1)[1], "split": lambda t: t.split(1, -1)[2], "split_sizes": lambda t: t.split([1, 3], -1)[1],
    "slice": lambda t: t[..., 1:3], "narrow": lambda t: t.narrow(-1, 1, 2), "flatten": lambda t: t.flatten(-2, -1),
    "unflatten": lambda t: t.unflatten(-1, (2, 2)), "stack": lambda t: torch.stack([t, t * 2], -1),
    "cat": lambda t: torch.cat([t, t * 2], -1), "log_softmax": lambda t: F.log_softmax(t, -1),
    "layer_norm": lambda t: F.layer_norm(t, (4,)), "linear": lambda t: F.linear(t, torch.ones(2, 4, dtype=t.dtype)),
    "matmul": lambda t: t @ torch.ones(4, 2, dtype=t.dtype), "squeeze": lambda t: t.unsqueeze(-1).squeeze(-1),
    "expand": lambda t: t.unsqueeze(-1).expand(*(-1,) * t.dim(), 2), "amax": lambda t: t.amax(-1),
}


@pytest.mark.parametrize("name", BY_PART)
def test_an_op_on_inner_dimensions_acts_on_every_part(name: str) -> None:
    nt = make(3, 4)
    for made, part in zip(BY_PART[name](nt).unbind(), nt.unbind(), strict=True):
        assert torch.allclose(made, BY_PART[name](part))


@pytest.mark.parametrize("name", BY_PART)
def test_its_gradient_is_right(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    leaves = [torch.randn(n, 2, 4, dtype=torch.float64, generator=generator).requires_grad_() for n in (2, 1)]

    def function(*parts: Any) -> Any:
        return BY_PART[name](nested.as_nested_tensor(list(parts), layout=torch.jagged)).to_padded_tensor(0.0)
    assert torch.autograd.gradcheck(function, tuple(leaves), check_batched_grad=False)


@pytest.mark.parametrize(("function", "message"), [
    (lambda t: t[1:], r"slice\(\): not supported for NestedTensor on dim=0"),
    (lambda t: t.narrow(1, 0, 1), r"narrow\(\): not supported for NestedTensor on ragged dim"),
    (lambda t: t.chunk(2, 1), r"chunk\(\): not supported for NestedTensor on ragged dim"),
    (lambda t: t.split(1, 0), r"split\(\): not supported for NestedTensor on dim=0"),
    (lambda t: t.flatten(1, 2), r"flatten\(\): not supported for NestedTensor on ragged dim"),
    (lambda t: t.squeeze(1), r"squeeze\(\): not supported for NestedTensor on ragged dim"),
    (lambda t: t.unsqueeze(0), r"unsqueeze\(\): not supported for NestedTensor on dim=0"),
    (lambda t: t.view(-1, 4), r"view\(\): cannot view shape \(3, j\d+, 4\) as \[-1, 4\]"),
    (lambda t: torch.stack([t, t], 1), r"stack\(\): not supported for NestedTensor on ragged dim"),
    (lambda t: F.log_softmax(t, 1), "not supported when reducing along the ragged dimension"),
    (lambda t: t + torch.ones(2, 4), "cannot call binary pointwise function add.Tensor"),
    (lambda t: t.coalesce(), "coalesce expected sparse coordinate tensor layout but got Jagged"),
    (lambda t: t.numpy(), r"\.numpy\(\) is not supported for tensor subclasses"),
    (lambda t: t.matmul(t.transpose(1, 2)), r"matmul\(\): not supported between inputs of shapes"),
])
def test_what_would_cut_across_the_parts_is_refused(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        function(make(4))


@pytest.mark.parametrize("name", ["tril", "nonzero", "sort", "cumsum"])
def test_ops_without_a_jagged_form_are_named(name: str) -> None:
    with pytest.raises(NotImplementedError, match=f"aten.{name}"):
        getattr(make(4), name)(*((1,) if name == "cumsum" else ()))


def test_chunks_of_parts_have_offsets_of_their_own() -> None:
    first, second = make(4).chunk(2, 0)
    assert first.offsets().tolist() == [0, 2, 5] and second.offsets().tolist() == [0, 1]


def test_a_batch_of_matrices_multiplies_part_by_part() -> None:
    nt, matrices = make(4), torch.arange(24.0, dtype=torch.float64).view(3, 4, 2)
    for made, part, matrix in zip(torch.bmm(nt, matrices).unbind(), nt.unbind(), matrices, strict=True):
        assert torch.allclose(made, part @ matrix)


def test_the_ragged_dimension_can_be_summed_over_by_a_product() -> None:
    nt = make(4)
    made = nt.transpose(1, 2) @ nt
    assert torch.allclose(made, torch.stack([part.t() @ part for part in nt.unbind()]))


@pytest.mark.parametrize("causal", [False, True])
def test_attention_stays_within_the_parts(causal: bool) -> None:
    nt = make(2, 4).requires_grad_()
    query = nt.transpose(1, 2)
    made = F.scaled_dot_product_attention(query, query, query, is_causal=causal)
    for out, part in zip(made.unbind(), query.unbind(), strict=True):
        assert torch.allclose(out, F.scaled_dot_product_attention(part, part, part, is_causal=causal))
    made.sum().backward()
    assert nt.grad.shape == nt.shape


def test_embedding_looks_up_ragged_indices() -> None:
    indices = nested.nested_tensor([torch.tensor([0, 2]), torch.tensor([1])], layout=torch.jagged)
    weight = torch.arange(6.0).view(3, 2).requires_grad_()
    made = F.embedding(indices, weight)
    assert [t.tolist() for t in made.unbind()] == [[[0.0, 1.0], [4.0, 5.0]], [[2.0, 3.0]]]
    made.sum().backward()
    assert weight.grad.tolist() == [[1.0, 1.0]] * 3


def test_narrow_leaves_holes_over_the_memory_of_its_source() -> None:
    source = torch.arange(12.0).view(2, 3, 2)
    nt = nested.narrow(source, 1, torch.tensor([0, 1]), torch.tensor([1, 2]), layout=torch.jagged)
    assert [t.tolist() for t in nt.unbind()] == [[[0.0, 1.0]], [[8.0, 9.0], [10.0, 11.0]]]
    assert nt.lengths().tolist() == [1, 2] and not nt.is_contiguous()
    assert nt.contiguous().values().shape == (3, 2)
    assert [t.tolist() for t in (nt * 2).unbind()] == [[[0.0, 2.0]], [[16.0, 18.0], [20.0, 22.0]]]
    nt.unbind()[0].zero_()
    assert source[0, 0].tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="with holes"):
        nt.sum(1)


def test_masked_select_gives_what_each_row_chooses() -> None:
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    made = nested.masked_select(x, x > 1)
    assert [t.tolist() for t in made.unbind()] == [[2.0], [3.0, 4.0, 5.0]]
    made.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]


def test_any_single_dimension_of_a_list_may_be_ragged() -> None:
    nt = nested.nested_tensor([torch.ones(2, 3, 4), torch.ones(2, 5, 4)], layout=torch.jagged)
    assert nt.shape == (2, 2, nt.shape[2], 4) and nt._ragged_idx == 2
    assert [t.shape for t in nt.unbind()] == [(2, 3, 4), (2, 5, 4)]


def test_tensors_with_the_same_offsets_are_ragged_alike() -> None:
    offsets = torch.tensor([0, 2, 5])
    a, b = [nested.nested_tensor_from_jagged(torch.ones(5, 2), offsets) for _ in range(2)]
    assert a.shape == b.shape and torch.all((a + b).values() == 2)


def test_a_symbol_can_be_given_where_a_shape_is_wanted() -> None:
    nt = make(2, 3)
    assert nt.view(3, nt.shape[1], 6).shape == (3, nt.shape[1], 6)


def test_lengths_of_the_parts_are_known() -> None:
    nt = make(2)
    assert (nt._get_min_seqlen(), nt._get_max_seqlen()) == (1, 3)


@pytest.mark.parametrize("layout", ["strided", "jagged"])
def test_a_file_gives_back_the_parts(layout: str) -> None:
    nt = nested.nested_tensor([torch.ones(2, 3), torch.zeros(1, 3)], layout=getattr(torch, layout))
    file = io.BytesIO()
    torch.save({"nt": nt}, file)
    file.seek(0)
    made = torch.load(file)["nt"]
    assert made.layout is nt.layout
    assert [t.tolist() for t in made.unbind()] == [t.tolist() for t in nt.unbind()]


def test_private_names_reach_jagged_tensors() -> None:
    from retrograd.nested._internal import nested_tensor as private
    nt = private.nested_from_padded(torch.arange(8.0).view(2, 2, 2), torch.tensor([0, 1, 3]))
    assert isinstance(nt, private.NestedTensor) and not isinstance(torch.ones(1), private.NestedTensor)
    assert private.buffer_from_jagged(nt).tolist() == [[0.0, 1.0], [4.0, 5.0], [6.0, 7.0]]
    assert private.jagged_from_list([torch.ones(1), torch.ones(2)], None)[1].tolist() == [0, 1, 3]


def test_dimensions_of_components_are_found_from_dimensions_of_the_jagged_tensor():
    assert [inside(4, d, 1, canonicalize=True) for d in (0, 1, -1, 2)] == [0, 0, 2, 1]
    assert inside(4, [0, 2, 3], 2) == [1, 2]
    with pytest.raises(AssertionError, match="dim 4 out of range for ndim 4"):
        inside(4, 4, 1)
    with pytest.raises(IndexError, match="Dimension out of range"):
        inside(4, 4, 1, canonicalize=True)


def with_holes(*inner: int) -> Any:
    values = torch.arange(6.0 * max(1, len(inner) and inner[0])).reshape(6, *inner)
    return nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 6]), lengths=torch.tensor([2, 1]))


def test_dense_tensors_are_not_padded_parts_beside_parts_with_holes():
    holes = with_holes(2)
    assert (holes + torch.ones(2)).is_nested and (holes + torch.ones(1, 1, 2)).is_nested
    for operands in ((holes, torch.ones(2, 1, 2)), (torch.ones(2, 1, 2), holes)):
        with pytest.raises(RuntimeError, match=r"cannot call binary pointwise function mul.Tensor with inputs of shapes \(2, "):
            torch.mul(*operands)


@pytest.mark.parametrize("reduce", [
    lambda x: x.sum((0, 1)), lambda x: x.amax((0, 1)), lambda x: x.mean((0, 1)), lambda x: x.any((0, 1))])
def test_ragged_dimension_with_holes_is_not_reduced(reduce: Callable[[Any], Any]):
    with pytest.raises(RuntimeError, match="reducing across the ragged dimension is not supported for non-contiguous"):
        reduce(with_holes(2))


def test_everything_with_holes_is_reduced():
    assert with_holes(2).sum().item() == sum(range(12))


@pytest.mark.parametrize("function", [
    lambda x: x.chunk(2, -1), lambda x: x.split(1, -1), lambda x: x.split([1, 1], -1), lambda x: x.narrow(-1, 0, 1),
    lambda x: x[:, :, 1:], lambda x: x.squeeze(-1), lambda x: F.linear(x, torch.ones(3, 2, dtype=x.dtype))])
def test_pieces_are_taken_of_contiguous_jagged_tensors(function: Callable[[Any], Any]):
    function(make(2))
    for x in (with_holes(2), make(2).transpose(1, 2)):
        with pytest.raises(ValueError, match=r"NestedTensor \w+\(.*\): expected \w+ to be a contiguous jagged layout NestedT"):
            function(x)


def test_select_along_a_dense_dimension_needs_parts_without_holes():
    with pytest.raises(ValueError, match="not yet supported on dim != 0 for non-contiguous nested tensor with holes"):
        with_holes(2).select(2, 0)


def test_index_put_returns_a_copy_with_the_places_written():
    x = make(2)
    made = x.index_put((torch.tensor([1]), torch.tensor([2])), torch.tensor([[5.0, 6.0]], dtype=x.dtype))
    assert made[1][2].tolist() == [5.0, 6.0] and x[1][2].tolist() != [5.0, 6.0]
    assert made[0].equal(x[0]) and made[1][:2].equal(x[1][:2])
    made = x.index_put((torch.tensor([0, 2]),), torch.tensor(7.0, dtype=x.dtype))
    assert [part.eq(7).all().item() for part in made.unbind()] == [True, False, True]
    with pytest.raises(RuntimeError, match="only works on contiguous NJTs"):
        with_holes(2).index_put((torch.tensor([0]),), torch.tensor(7.0))
    leaf = x.detach().requires_grad_()
    leaf.index_put((torch.tensor([1]), torch.tensor([2])), torch.zeros(1, 2, dtype=x.dtype)).sum().backward()
    assert leaf.grad[1].tolist() == [[1, 1], [1, 1], [0, 0]]


def test_masked_select_keeps_the_chosen_elements_of_every_part():
    x = make()
    chosen = x.masked_select(x > 0)
    assert [part.tolist() for part in chosen.unbind()] == [part[part > 0].tolist() for part in x.unbind()]
    with pytest.raises(RuntimeError, match="only support 2-D"):
        make(2).masked_select(make(2) > 0)
    with pytest.raises(RuntimeError, match="is not compatible with input's shape"):
        x.masked_select(make() > 0)


def test_where_takes_a_jagged_condition_and_dense_operands_of_fewer_dimensions():
    x = make(2)
    assert torch.where(x > 0, x, torch.zeros(2, dtype=x.dtype))[0].equal(x[0].clamp(min=0))
    with pytest.raises(ValueError, match="expected condition to be a jagged layout NestedTensor"):
        torch.where(torch.tensor(True), x, x)
    with pytest.raises(ValueError, match="broadcasting nested tensors with dense tensors of equal or higher dim"):
        torch.where(x > 0, x, torch.zeros(3, 1, 2, dtype=x.dtype))


def test_embedding_bags_are_the_parts_of_a_jagged_tensor():
    weight = torch.randn(5, 3)
    bags = nested.nested_tensor([torch.tensor([0, 1]), torch.tensor([2, 3, 4])], layout=torch.jagged)
    expected = torch.stack([weight[:2].sum(0), weight[2:].sum(0)])
    torch.testing.assert_close(F.embedding_bag(bags, weight, mode="sum"), expected)
    shares = bags.to(weight.dtype) * 0 + 2
    torch.testing.assert_close(F.embedding_bag(bags, weight, mode="sum", per_sample_weights=shares), 2 * expected)
