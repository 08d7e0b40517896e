"""Nested tensors of the jagged layout: their symbolic shapes, dense neighbours, sums, and gradients."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional as F

nested = torch.nested


def make(*lengths: int, width: int = 2, requires_grad: bool = False) -> Any:
    parts = [torch.arange(float(n * width), dtype=torch.float64).reshape(n, width) / 7 + 0.1 for n in lengths]
    return nested.nested_tensor(parts, layout=torch.jagged, requires_grad=requires_grad)


def test_shape_has_a_symbol_that_results_share() -> None:
    nt = make(3, 2)
    symbol = nt.shape[1]
    assert isinstance(symbol, torch.SymInt)
    assert nt.shape == (2, symbol, 2) == (nt * 2).sin().shape
    assert make(3, 2).shape != nt.shape
    assert nt.size(1) == symbol
    assert str(nt.stride()) == f"(2*{symbol}, 2, 1)"
    assert nt.transpose(1, 2).shape == (2, 2, symbol)
    assert nt.unsqueeze(1).shape == (2, 1, symbol, 2)
    assert nt.layout is torch.jagged


def test_symbol_is_no_number() -> None:
    symbol = make(3, 2).shape[1]
    assert symbol != 3
    assert symbol >= 2
    assert symbol > 1
    assert repr(2 * symbol) == f"2*{symbol}"
    with pytest.raises(ValueError, match="ge: relation is indeterminate"):
        _ = symbol < 5
    assert len({symbol, make(3, 2).shape[1]}) == 2


def test_repr_shows_the_offsets() -> None:
    nt = make(3, 2, requires_grad=True)
    size = f"(2, {nt.shape[1]}, 2)"
    assert repr(nt) == f"NestedTensor(size={size}, offsets=tensor([0, 3, 5]), requires_grad=True, contiguous=True)"
    assert "grad_fn=<SinBackward0 object" in repr(nt.sin())
    assert repr(nt.detach().transpose(1, 2)).endswith("contiguous=False)")


def test_values_and_offsets_make_it_again() -> None:
    nt = make(3, 2)
    assert nt.values().shape == (5, 2)
    assert nt.offsets().tolist() == [0, 3, 5]
    again = nested.nested_tensor_from_jagged(nt.values(), nt.offsets())
    assert [t.tolist() for t in again.unbind()] == [t.tolist() for t in nt.unbind()]
    by_lengths = nested.nested_tensor_from_jagged(nt.values(), lengths=torch.tensor([3, 2]))
    assert by_lengths.offsets().tolist() == [0, 3, 5]
    for twin in (copy.deepcopy(nt), pickle.loads(pickle.dumps(nt))):
        assert twin.values().tolist() == nt.values().tolist()


def test_memory_of_the_values_is_shared() -> None:
    values = torch.zeros(5, 2)
    nested.nested_tensor_from_jagged(values, torch.tensor([0, 3, 5])).add_(1)
    assert values.tolist() == [[1.0, 1.0]] * 5
    assert values._version == 1


@pytest.mark.parametrize("dense", [
    torch.tensor(2.0), torch.tensor([2.0, 3.0]), torch.tensor([[2.0, 3.0]]), torch.tensor([[[2.0, 3.0]], [[4.0, 5.0]]]),
    torch.arange(12.0).reshape(2, 3, 2),
])
def test_dense_neighbour_is_spread_over_the_parts(dense: Any) -> None:
    nt = make(3, 2)
    dense = dense.to(torch.float64)
    for i, (part, source) in enumerate(zip((nt + dense).unbind(), nt.unbind(), strict=True)):
        beside = dense[i] if dense.ndim == 3 else dense
        assert torch.equal(part, source + (beside[:len(source)] if beside.ndim == 2 and len(beside) > 1 else beside))


def test_sums_and_means() -> None:
    nt = make(3, 2)
    parts = nt.unbind()
    assert torch.allclose(nt.sum(), nt.values().sum())
    assert torch.allclose(nt.mean(), nt.values().mean())
    assert torch.allclose(nt.sum(1), torch.stack([p.sum(0) for p in parts]))
    assert torch.allclose(nt.mean(1), torch.stack([p.mean(0) for p in parts]))
    assert torch.allclose(nt.sum((0, 1)), nt.values().sum(0))
    assert nt.sum(1, keepdim=True).shape == (2, 1, 2)
    assert nt.sum(-1).shape == (2, nt.shape[1])
    assert nt.mean(-1, keepdim=True).shape == (2, nt.shape[1], 1)


@pytest.mark.parametrize(("function", "kind", "message"), [
    (lambda t: t + make(3, 2), RuntimeError, "cannot call binary pointwise function add.Tensor with inputs of shapes"),
    (lambda t: t.sum(0), RuntimeError, "reducing along the batch dimension but not the ragged dimension is not supported"),
    (lambda t: t.softmax(0), RuntimeError, "not supported when reducing across the batch dimension"),
    (lambda t: t.transpose(0, 1), ValueError, "Transpose is not supported on the batch dimension for jagged NT"),
    (lambda t: t.unbind(1), RuntimeError, "only supported for NestedTensor on dim=0"),
    (lambda t: torch.cat([t, t]), RuntimeError, "not supported for NestedTensor on dim=0"),
    (lambda t: nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 1)], layout=torch.jagged), RuntimeError,
     "Cannot represent given tensor list as a nested tensor with the jagged layout"),
    (lambda t: nested.nested_tensor([], layout=torch.jagged), RuntimeError, "from an empty tensor list"),
    (lambda t: nested.nested_tensor([torch.ones(1)], layout=torch.sparse_coo), RuntimeError, "layout is unsupported"),
    (lambda t: nested.nested_tensor_from_jagged(t.values()), RuntimeError, "At least one of offsets or lengths is required."),
])
def test_what_jagged_tensors_cannot_do_is_refused(function: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        function(make(3, 2))


GRADIENTS: dict[str, Callable[..., Any]] = {
    "MulBackward0": lambda a, w, c: a.sin() * a,
    "AddBackward0": lambda a, w, c: a + c,
    "SumBackwardAutogradNestedTensor0": lambda a, w, c: (a * a).sum(),
    "SumBackwardAutogradNestedTensor1": lambda a, w, c: (a * a).sum(1),
    "MeanBackwardAutogradNestedTensor0": lambda a, w, c: (a * a).mean(),
    "MeanBackward1": lambda a, w, c: (a * a).mean(1),
    "LinearBackward0": lambda a, w, c: F.linear(a, w),
    "MatmulBackward0": lambda a, w, c: a.matmul(w.t()),
    "SoftmaxBackward0": lambda a, w, c: a.softmax(1),
    "TransposeBackward0": lambda a, w, c: a.transpose(1, 2),
    "CatBackward0": lambda a, w, c: torch.cat([a, a * a], -1),
    "NestedGetValuesBackward0": lambda a, w, c: (a * a).values(),
    "UnbindBackwardAutogradNestedTensor0": lambda a, w, c: (a * a).unbind()[1],
    "ViewBackwardAutogradNestedTensor0": lambda a, w, c: a.reshape(2, -1, 2, 1),
    "ToPaddedTensorBackward0": lambda a, w, c: a.to_padded_tensor(0.0),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_is_right(name: str) -> None:
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    def function(x: Any, y: Any, w: Any, c: Any) -> Any:
        out = GRADIENTS[name](nested.as_nested_tensor([x, y], layout=torch.jagged), w, c)
        assert out.grad_fn.name() == name
        return out.to_padded_tensor(0.0) if out.is_nested else out
    inputs = (leaf(3, 2), leaf(2, 2), leaf(4, 2), leaf(2))
    assert torch.autograd.gradcheck(function, inputs, check_batched_grad=False)
    assert torch.autograd.gradgradcheck(function, inputs, check_batched_grad=False)


def test_gradient_of_a_leaf_is_ragged_like_it() -> None:
    nt = make(3, 2, requires_grad=True)
    nt.sin().sum().backward()
    assert nt.grad.shape == nt.shape
    assert torch.allclose(nt.grad.values(), nt.values().cos())


def test_node_knows_the_symbolic_shape() -> None:
    nt = make(3, 2, requires_grad=True)
    facts = nt.clone().grad_fn._input_metadata[0]
    assert facts.shape == nt.shape
    assert facts.is_nested_tensor
    assert not facts.is_cpp_nested_tensor
    strided = nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)
    assert strided.clone().grad_fn._input_metadata[0].is_cpp_nested_tensor


def test_layer_norm_and_attention() -> None:
    nt = make(3, 2, width=4)
    for part, source in zip(F.layer_norm(nt, (4,)).unbind(), nt.unbind(), strict=True):
        assert torch.allclose(part, F.layer_norm(source, (4,)))
    heads = nt.reshape(2, -1, 2, 2).transpose(1, 2)
    out = F.scaled_dot_product_attention(heads, heads, heads)
    assert out.shape == (2, 2, nt.shape[1], 2)
    for part, source in zip(out.unbind(), heads.unbind(), strict=True):
        assert torch.allclose(part, F.scaled_dot_product_attention(source, source, source))


def test_lengths_are_known_after_they_were_given_or_read() -> None:
    values, offsets = torch.arange(12.0).view(6, 2), torch.tensor([0, 2, 6])
    nt = torch.nested.nested_tensor_from_jagged(values, offsets)
    assert nt._max_seqlen_tensor is None and nt._maybe_min_seqlen is None and nt._metadata_cache == {}
    assert nt._get_max_seqlen() == 4 and nt._maybe_max_seqlen == 4 and nt._max_seqlen_tensor.shape == (4, 0)
    assert sorted((nt + 1)._metadata_cache) == ["max_seqlen"] and nt._maybe_min_seqlen is None
    made = torch.nested.nested_tensor([torch.ones(1, 2), torch.ones(3, 2)], layout=torch.jagged)
    assert (made._maybe_min_seqlen, made._maybe_max_seqlen) == (1, 3) and made._values.shape == (4, 2)
    assert torch.eye(2).to_sparse()._values().tolist() == [1, 1] and not hasattr(values, "_max_seqlen_tensor")
