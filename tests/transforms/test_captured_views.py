"""Writes to views of captured tensors, memory under vmap, the loop over examples, and control flow by functions."""
from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd import _higher_order_ops as control
from retrograd._functorch import levels
from retrograd._functorch.functional_call import construct_stacked_leaf
from retrograd.func import grad, jvp, vjp, vmap

WRITES: list[Callable[[Any, Any], Any]] = [
    lambda y, x: y[0].copy_(x[0]), lambda y, x: y.view(3, 1).add_(x.view(3, 1)), lambda y, x: y[1:][0].mul_(x[0]),
    lambda y, x: y.__setitem__(0, x[0]), lambda y, x: y.unbind()[2].fill_(1.0), lambda y, x: y.add_(x),
]


@pytest.mark.parametrize("write", WRITES)
def test_views_of_captured_tensors_cannot_be_written_to(write: Any) -> None:
    x, y = torch.arange(1.0, 4.0), torch.zeros(3)

    def function(x: Any) -> Any:
        write(y, x)
        return x.sum()
    for transform in (lambda: grad(function)(x), lambda: vjp(function, x), lambda: jvp(function, (x,), (x,))):
        with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
            transform()
    assert y.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("write", WRITES)
def test_views_of_new_tensors_can(write: Any) -> None:
    x = torch.arange(1.0, 4.0)

    def function(x: Any) -> Any:
        y = torch.zeros(3)
        write(y, x)
        return y.sum()
    expected = torch.autograd.functional.jacobian(function, x)
    assert torch.equal(grad(function)(x), expected)
    assert torch.equal(jvp(function, (x,), (torch.ones(3),))[1], expected.sum())


@pytest.mark.parametrize(("function", "kind", "message"), [
    (lambda x: x.data_ptr(), RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage"),
    (lambda x: x.untyped_storage(), NotImplementedError, "Cannot access storage of BatchedTensorImpl"),
    (copy.deepcopy, NotImplementedError, "Cannot access storage of BatchedTensorImpl"),
    (lambda x: torch.allclose(x, x), RuntimeError, "vmap over torch.allclose isn't supported yet"),
    (lambda x: torch.equal(x, x), RuntimeError, "Batching rule not implemented for aten::equal"),
    (lambda x: x.masked_select(x > 1), RuntimeError, "Attempted to vmap over `mask` in torch.masked_select"),
])
def test_examples_have_no_memory_of_their_own(function: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        vmap(function)(torch.ones(2, 3))


def test_ops_without_a_rule_run_example_by_example_and_warn() -> None:
    x = torch.arange(6.0).view(2, 3)
    with pytest.warns(UserWarning, match="have not yet implemented the batching rule for aten::_test_functorch_fallback"):
        assert torch.equal(vmap(torch._test_functorch_fallback)(x, x), x)
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"):
        vmap(torch._test_functorch_fallback)(x[:0], x[:0])
    levels._set_vmap_fallback_enabled(False)
    try:
        with pytest.raises(RuntimeError, match="hit the vmap fallback which is currently disabled"):
            vmap(torch._test_functorch_fallback)(x, x)
    finally:
        levels._set_vmap_fallback_enabled(True)


def test_cond_runs_one_branch_or_chooses_by_example() -> None:
    x = torch.arange(6.0).view(2, 3)
    assert torch.equal(torch.cond(x.sum() > 1, torch.sin, torch.cos, (x,)), x.sin())
    chosen = vmap(lambda p, t: torch.cond(p, torch.sin, torch.cos, (t,)))(torch.tensor([True, False]), x)
    assert torch.equal(chosen, torch.stack([x[0].sin(), x[1].cos()]))
    leaf = x.clone().requires_grad_()
    torch.cond(False, lambda t: t.sum(), lambda t: (t * 3).sum(), (leaf,)).backward()
    assert leaf.grad.unique().tolist() == [3.0]
    with pytest.raises(RuntimeError, match="Expected pred to be bool or single-element tensor"):
        torch.cond(x > 1, torch.sin, torch.cos, (x,))


def test_loops_carry_values() -> None:
    count, x = torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(2)))
    assert count.item() == 3 and x.tolist() == [8.0, 8.0]
    assert torch.equal(control.map(lambda a, b: a * b, torch.arange(4).view(2, 2), torch.tensor([1, 2])),
                       torch.tensor([[0, 2], [2, 6]]))
    total, before = control.scan(lambda c, x: (c + x, c), torch.tensor(0), torch.arange(4), reverse=True)
    assert total.item() == 6 and before.tolist() == [6, 5, 3, 0]


def test_stacked_leaves_require_grad_together() -> None:
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    assert construct_stacked_leaf((a, a), "w").is_leaf and construct_stacked_leaf((a, a), "w").requires_grad
    with pytest.raises(RuntimeError, match=r"Expected w from each model to have the same \.requires_grad"):
        construct_stacked_leaf((a, b), "w")
