"""Calls that go straight to a compiled kernel: what they must leave to the layers, and what they must not forget."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.core.opdef import find_packet
from retrograd.core.recipe import QUICK_NO


def op(name: str, overload: str = "default") -> Any:
    found = getattr(find_packet(name), overload)
    if not found._ready:
        found.prepare()
    return found


@pytest.mark.parametrize("name", ["_softmax", "cumsum", "leaky_relu", "exp_", "leaky_relu_", "cumsum_", "special_i0e"])
def test_ops_with_a_compiled_kernel_take_the_quick_way(name: str) -> None:
    found = op(name)
    kernel = found.pure.native if found.is_inplace else found.native
    assert (found.quick != QUICK_NO) is (kernel is not None)


def test_in_place_counts_versions_and_returns_its_target() -> None:
    x = torch.tensor([1.0, -2.0])
    with torch.no_grad():
        assert torch.nn.functional.leaky_relu_(x, 0.5) is x and x._version == 1
        assert x.cumsum_(0) is x and x._version == 2
        assert x.abs_() is x and x._version == 3
    assert x.tolist() == [1.0, 0.0]


def test_leaf_that_requires_grad_is_still_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.abs_()
    with torch.no_grad():
        x.abs_()
    assert x._version == 1


def test_view_written_in_place_changes_its_base_and_its_graph() -> None:
    base = torch.tensor([[1.0, -1.0], [2.0, -2.0]])
    base[0].abs_()
    assert base.tolist() == [[1.0, 1.0], [2.0, -2.0]] and base._version == 1
    leaf = torch.tensor([1.0, -1.0], requires_grad=True)
    copy = leaf.clone()
    copy[1:].abs_()
    copy.sum().backward()
    assert leaf.grad.tolist() == [1.0, -1.0]


def test_memory_shared_by_elements_or_operands_is_refused() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.ones(1).expand(3).abs_()
    x = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
        x[1:].addcmul_(x[:-1], x[:-1])


def test_checks_are_asked_and_say_the_same() -> None:
    with pytest.raises(RuntimeError, match="At least one of 'min' or 'max' must not be None"):
        torch.clamp(torch.ones(2))
    with pytest.raises(RuntimeError, match="In-place abs is not supported for complex tensors"):
        torch.ones(2, dtype=torch.complex64).abs_()
    with pytest.raises(RuntimeError, match="lambda must be in range"):
        torch.nn.functional.softshrink(torch.ones(2), -1.0)


def test_other_dtypes_and_orders_give_what_the_layers_give() -> None:
    x = torch.tensor([[1, 2], [3, 4]])
    assert torch.special.i0e(x).dtype == torch.float32
    assert torch.special.i0e(x.double().t()).stride() == (1, 2)
    assert torch.special.i0e(torch.tensor(1.0)).shape == ()
    with pytest.raises(RuntimeError, match="not implemented for 'ComplexFloat'"):
        torch.special.i0e(torch.ones(2, dtype=torch.complex64))


def test_lists_in_order_and_out_of_order() -> None:
    xs = [torch.tensor([1.0, 4.0]), torch.tensor([9.0])]
    assert [t.tolist() for t in torch._foreach_sqrt(xs)] == [[1.0, 2.0], [3.0]]
    assert [t.tolist() for t in torch._foreach_add(xs, xs, alpha=2)] == [[3.0, 12.0], [27.0]]
    assert [t.tolist() for t in torch._foreach_mul(xs, torch.tensor(2.0))] == [[2.0, 8.0], [18.0]]
    with torch.no_grad():
        torch._foreach_add_(xs, xs, alpha=1)
        torch._foreach_mul_(xs, 0.5)
    assert [t.tolist() for t in xs] == [[1.0, 4.0], [9.0]] and [t._version for t in xs] == [2, 2]
    for call in (torch._foreach_add, torch._foreach_add_):
        with pytest.raises(RuntimeError, match="Tensor lists must have the same number of tensors"), torch.no_grad():
            call(xs, xs[:1])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        torch._foreach_sqrt([])


def test_recorded_lists_have_nodes_of_their_own() -> None:
    xs = [torch.tensor([1.0, 4.0], requires_grad=True), torch.tensor([9.0])]
    made = torch._foreach_sqrt(xs)
    assert type(made[0].grad_fn).__name__ == "ForeachSqrtBackward0" and made[1].grad_fn is None


def test_lists_of_tensors_and_given_dtypes() -> None:
    x, leaf = torch.tensor([1.5]), torch.tensor([2.5], requires_grad=True)
    assert torch.cat([x, x]).tolist() == [1.5, 1.5]
    assert torch.cat([x, leaf]).requires_grad
    assert torch.sum(torch.tensor([True, True]), 0, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(TypeError, match="expected Tensor as element 1"):
        torch.cat([x, 3])


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_new_tensors_like_others_are_where_they_are_asked_for(device: str) -> None:
    x = torch.ones(2, 3)
    assert torch.full_like(x, 2.0, device=device).device.type == device
    assert x.new_full((2,), 1).tolist() == [1.0, 1.0] and not torch.full_like(x.requires_grad_(), 2.0).requires_grad
    assert torch.rand_like(x.to(device)).device.type == device
