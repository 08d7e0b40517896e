"""Nested tensors: making them, asking them, computing with them and differentiating through them."""
from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.nn import functional as F

nested = torch.nested


def make(*shapes: tuple[int, ...], requires_grad: bool = True) -> Any:
    parts = [torch.arange(float(torch.Size(s).numel()), dtype=torch.float64).reshape(s) / 7 + 0.1 for s in shapes]
    return nested.nested_tensor(parts, requires_grad=requires_grad)


def shapes(t: Any) -> list[list[int]]:
    return t._nested_tensor_size().tolist()


# ---- making and asking
def test_leaf_is_a_copy() -> None:
    x = torch.ones(2, requires_grad=True)
    nt = nested.nested_tensor([x, [1.0, 2.0, 3.0]], requires_grad=True)
    x.data[0] = 5.0
    assert nt.is_leaf
    assert nt.is_nested
    assert not x.is_nested
    assert nt.unbind()[0].tolist() == [1.0, 1.0]
    assert nt.layout is torch.strided


def test_history_of_the_parts_is_kept() -> None:
    x, y = torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)
    nt = nested.as_nested_tensor([x, y])
    assert nt.grad_fn.name() == "NestedTensorFromTensorListBackward0"
    (nt * 3).to_padded_tensor(0.0).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert y.grad.tolist() == [3.0, 3.0, 3.0]


def test_tensor_is_taken_apart_along_its_first_dimension() -> None:
    assert shapes(nested.as_nested_tensor(torch.ones(2, 3, 4))) == [[3, 4], [3, 4]]


def test_only_regular_dimensions_have_a_size() -> None:
    nt = make((2, 3), (1, 3))
    assert (nt.size(0), nt.size(2), nt.size(-1), nt.dim(), nt.numel()) == (2, 3, 3, 3, 9)
    with pytest.raises(RuntimeError, match="Given dimension 1 is irregular and does not have a size."):
        nt.size(1)
    with pytest.raises(RuntimeError, match="NestedTensorImpl doesn't support sizes"):
        _ = nt.shape
    with pytest.raises(RuntimeError, match="NestedTensorImpl doesn't support strides"):
        nt.stride()
    assert torch.ones(2, 3).shape == (2, 3)


def test_repr_shows_the_parts() -> None:
    nt = nested.nested_tensor([torch.zeros(2, 2), torch.ones(1, 2)])
    assert repr(nt) == ("nested_tensor([\n  tensor([[0., 0.],\n          [0., 0.]]),\n  tensor([[1., 1.]])\n])")
    assert repr(nt.requires_grad_().sin()).endswith("\n], grad_fn=<SinBackward0>)")
    assert repr(nested.nested_tensor([])) == "nested_tensor([\n\n])"


@pytest.mark.parametrize(("build", "kind", "message"), [
    (lambda: nested.nested_tensor(3), TypeError, "Only lists"),
    (lambda: nested.as_nested_tensor([3]), TypeError, "Expected first argument to be a tensor or a list / tuple of tensors"),
    (lambda: nested.nested_tensor([torch.ones(2), torch.ones(2, 1)]), RuntimeError,
     "All Tensors given to nested_tensor must have the same dimension. Found dimension 2 for Tensor at index 1"),
])
def test_what_cannot_be_nested_is_refused(build: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        build()


def test_parts_are_views() -> None:
    nt = make((2,), (3,), requires_grad=False)
    first = nt.unbind()[0]
    first.zero_()
    assert nt[0].tolist() == [0.0, 0.0]
    assert first._base is nt
    assert [t.numel() for t in nt] == [2, 3]


def test_copies_are_whole() -> None:
    nt = make((2,), (3,))
    for twin in (copy.deepcopy(nt), pickle.loads(pickle.dumps(nt))):
        assert twin.requires_grad
        assert [t.tolist() for t in twin.unbind()] == [t.tolist() for t in nt.unbind()]


def test_padding() -> None:
    nt = nested.nested_tensor([[1.0, 2.0], [3.0]])
    assert nested.to_padded_tensor(nt, -1.0).tolist() == [[1.0, 2.0], [3.0, -1.0]]
    assert nt.to_padded_tensor(0.0, (2, 3)).tolist() == [[1.0, 2.0, 0.0], [3.0, 0.0, 0.0]]
    with pytest.raises(RuntimeError, match="Truncation is not supported"):
        nt.to_padded_tensor(0.0, (2, 1))


# ---- computing
@pytest.mark.parametrize("function", [
    torch.sin, torch.relu, torch.neg, torch.clone, lambda t: t * 2, lambda t: 2 - t, lambda t: t + t, lambda t: t / t,
    lambda t: t.to(torch.float32), lambda t: F.gelu(t), lambda t: t.softmax(-1), lambda t: t.transpose(0, 1),
    lambda t: t.unsqueeze(0), lambda t: t * torch.tensor(3.0, dtype=torch.float64), torch.zeros_like, lambda t: t > 0.2,
])
def test_op_is_that_of_the_parts(function: Callable[[Any], Any]) -> None:
    nt = make((2, 3), (1, 3), requires_grad=False)

    def shifted(t: Any) -> Any:        # a dimension of the parts is the next one of the whole
        class Shift:
            transpose = staticmethod(lambda a, b: t.transpose(a + 1, b + 1))
            unsqueeze = staticmethod(lambda d: t.unsqueeze(d + 1))
        return Shift
    names = function.__code__.co_names if hasattr(function, "__code__") else ()
    made = function(shifted(nt)) if {"transpose", "unsqueeze"} & set(names) else function(nt)
    for part, source in zip(made.unbind(), nt.unbind(), strict=True):
        expected = function(source)
        assert part.dtype is expected.dtype
        assert torch.equal(part, expected)


def test_products_are_those_of_the_parts() -> None:
    a, b = make((2, 3), (1, 3), requires_grad=False), make((3, 2), (3, 4), requires_grad=False)
    for made in (a.matmul(b), torch.bmm(a, b)):
        for part, x, y in zip(made.unbind(), a.unbind(), b.unbind(), strict=True):
            assert torch.allclose(part, x @ y)
    weight = torch.randn(5, 3, dtype=torch.float64)
    for part, x in zip(F.linear(a, weight).unbind(), a.unbind(), strict=True):
        assert torch.allclose(part, x @ weight.t())


def test_attention_is_that_of_the_parts() -> None:
    q = make((2, 3, 4), (2, 5, 4), requires_grad=False)
    for part, x in zip(F.scaled_dot_product_attention(q, q, q).unbind(), q.unbind(), strict=True):
        assert torch.allclose(part, F.scaled_dot_product_attention(x, x, x))


def test_views_keep_what_is_ragged() -> None:
    nt = make((2, 4), (3, 4), requires_grad=False)
    assert shapes(nt.view(2, -1, 2, 2)) == [[2, 2, 2], [3, 2, 2]]
    assert shapes(nt.reshape(2, -1, 4, 1)) == [[2, 4, 1], [3, 4, 1]]
    assert [shapes(t) for t in nt.chunk(2, -1)] == [[[2, 2], [3, 2]]] * 2
    assert shapes(torch.cat([nt, nt])) == [[2, 4], [3, 4]] * 2
    assert shapes(nt.select(1, 0)) == [[4], [4]]
    assert nt.values().shape == (20,)
    assert not nt.transpose(1, 2).is_contiguous()
    assert nt.transpose(1, 2).contiguous().is_contiguous()
    assert nt.contiguous() is nt


def test_write_in_place_counts() -> None:
    nt = make((2,), (3,), requires_grad=False)
    nt.mul_(0).add_(1)
    assert nt._version == 2
    assert [t.tolist() for t in nt.unbind()] == [[1.0] * 2, [1.0] * 3]


@pytest.mark.parametrize(("function", "kind", "message"), [
    (lambda t: t.sum(), NotImplementedError, "Could not run 'aten::sum' with arguments from the 'NestedTensorCPU' backend"),
    (lambda t: t.sum(-1), RuntimeError, "NestedTensor always requires keepdim=True for now."),
    (lambda t: t.unbind(1), RuntimeError, "NestedTensor can only be unbound along dimension 0 got dimension 1 instead."),
    (lambda t: t.transpose(0, 1), RuntimeError, "Nested tensor dimension 0 cannot be transposed"),
    (lambda t: t + torch.ones(3), RuntimeError, "Expected both self and other to be nested, but got a nested self"),
    (lambda t: torch.ones(3) + t, RuntimeError, "Expected both self and other to be nested, but got a non-nested self"),
    (lambda t: t + make((2, 3)), RuntimeError, "add does not support broadcasting when given a NestedTensor"),
    (lambda t: t.matmul(torch.ones(3, 2)), RuntimeError, "Expected both to be nested, but got a nested self"),
    (lambda t: t.view(-1), RuntimeError, "nested view cannot change or infer the implicit batch dimension"),
    (lambda t: t[2], IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
    (lambda t: t.numpy(), RuntimeError, "NestedTensorImpl doesn't support sizes"),
    (lambda t: t.item(), RuntimeError, "a Tensor with 9 elements cannot be converted to Scalar"),
    (lambda t: t.permute(0, 2, 1), NotImplementedError, "'NestedTensorCPU' backend"),
    (lambda t: F.layer_norm(t, (3,)), ValueError, "NestedTensor layer_norm requires weight and bias"),
    (lambda t: t.backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
])
def test_what_nested_tensors_cannot_do_is_refused(function: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        function(make((2, 3), (1, 3)))


# ---- differentiating
GRADIENTS: dict[str, Callable[..., Any]] = {
    "MulBackward0": lambda a, b, w, c: (a * a).sin() * a,
    "TransposeBackward0": lambda a, b, w, c: a.transpose(1, 2),
    "MatmulBackward0": lambda a, b, w, c: a.matmul(b),
    "BmmBackward0": lambda a, b, w, c: torch.bmm(a, b),
    "SoftmaxBackward0": lambda a, b, w, c: a.softmax(-1),
    "LinearBackward0": lambda a, b, w, c: F.linear(a, w, c),
    "UnbindBackwardAutogradNestedTensor0": lambda a, b, w, c: a.unbind()[1],
    "SelectBackwardAutogradNestedTensor0": lambda a, b, w, c: a[0],
    "SumBackwardAutogradNestedTensor1": lambda a, b, w, c: a.sum(-1, keepdim=True),
    "ViewBackwardAutogradNestedTensor0": lambda a, b, w, c: a.reshape(2, -1, 3, 1),
    "SqueezeBackwardAutogradNestedTensor0": lambda a, b, w, c: a.unsqueeze(1).squeeze(1),
    "ValuesBackwardAutogradNestedTensor0": lambda a, b, w, c: a.values(),
    "CatBackward0": lambda a, b, w, c: torch.cat([a, a.sin()]),
    "ToPaddedTensorBackward0": lambda a, b, w, c: a.to_padded_tensor(0.0),
    "NativeLayerNormBackward0": lambda a, b, w, c: F.layer_norm(a, (3,), w[0], w[1]),
    "ChunkBackwardAutogradNestedTensor0": lambda a, b, w, c: a.chunk(3, -1)[1],
    "UnsqueezeBackward0": lambda a, b, w, c: a.unsqueeze(2),
    "GeluBackward0": lambda a, b, w, c: F.gelu(a),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradient_is_right(name: str) -> None:
    generator = torch.Generator().manual_seed(0)

    def leaf(*shape: int) -> Any:
        return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()

    def function(a: Any, a2: Any, b: Any, b2: Any, w: Any, c: Any) -> Any:
        out = GRADIENTS[name](nested.as_nested_tensor([a, a2]), nested.as_nested_tensor([b, b2]), w, c)
        assert out.grad_fn.name() == name
        return out.to_padded_tensor(0.0) if out.is_nested else out
    inputs = (leaf(2, 3), leaf(1, 3), leaf(3, 2), leaf(3, 4), leaf(2, 3), leaf(2))
    assert torch.autograd.gradcheck(function, inputs, check_batched_grad=False)
    if name != "NativeLayerNormBackward0":        # whose second derivatives need the shape
        assert torch.autograd.gradgradcheck(function, inputs, check_batched_grad=False)


def test_nested_gradient_is_accumulated() -> None:
    nt = make((2,), (3,))
    for _ in range(2):
        out = nt * 2
        out.backward(torch.ones_like(out.detach()))
    assert nt.grad.is_nested
    assert [g.tolist() for g in nt.grad.unbind()] == [[4.0] * 2, [4.0] * 3]


def test_gradient_must_be_nested_alike() -> None:
    nt = make((2, 3), (1, 3))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        nt.sin().backward(make((3, 2), (3, 1), requires_grad=False))


def test_saved_nested_tensor_is_guarded_against_writes() -> None:
    nt = make((2,), (2,))
    x = nt.clone()
    out = x.sum(-1, keepdim=True)
    x.add_(x)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.backward(make((1,), (1,), requires_grad=False))


def test_formula_may_be_another_one_for_nested_tensors() -> None:
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    grad = nested.nested_tensor([[4.0, 5.0]])
    torch._test_autograd_multiple_dispatch(nested.as_nested_tensor([x])).backward(grad)
    assert x.grad.tolist() == [16.0, 25.0]
    x.grad = None
    torch._test_autograd_multiple_dispatch(nested.as_nested_tensor([x]), True).backward(grad)
    assert x.grad.tolist() == [20.0, 30.0]


def test_modules_and_optimizers_take_them() -> None:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    nt = nested.nested_tensor([torch.randn(2, 3), torch.randn(5, 3)])
    model(nt).to_padded_tensor(0.0).sum().backward()
    whole = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    for part in nt.unbind():
        model(part).sum().backward()
    for p, expected in zip(model.parameters(), whole, strict=True):
        assert torch.allclose(p.grad, expected, atol=1e-6)


def test_functions_that_others_override_are_still_the_public_ones() -> None:
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return super().__torch_function__(func, types, args, kwargs or {})
    t = torch.ones(2).as_subclass(Seeing)
    t.size()
    _ = t.shape
    assert seen == [torch.Tensor.size, torch.Tensor.shape.__get__]


def test_parts_without_elements_are_not_padded() -> None:
    with pytest.raises(RuntimeError, match="at least one constituent tensor should have non-zero numel"):
        torch.nested.nested_tensor([torch.ones(2, 0)]).to_padded_tensor(0.0)
