"""Saved outputs: the node learns of every way in which the output can be written to."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as torch

MODIFIED = "modified by an inplace operation"


def output() -> torch.Tensor:
    return torch.ones(3, requires_grad=True).exp()


def through_detached(t: torch.Tensor) -> None:
    t.detach_()
    t.add_(1)


def through_new_data(t: torch.Tensor) -> None:
    t.data = torch.zeros(3)
    with torch.no_grad():
        t.add_(1)


WRITES = dict(
    itself=lambda t: t.add_(1), view=lambda t: t[0].zero_(), alias=lambda t: t.detach().add_(1),
    reshaped=lambda t: t.view(3).mul_(2),
    saved=lambda t: t.grad_fn._saved_result.detach().add_(1), detached=through_detached, new_data=through_new_data,
)


@pytest.mark.parametrize("name", WRITES)
def test_a_write_is_noticed(name):
    t = output()
    loss = t.sum()
    WRITES[name](t)
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_data_is_not_watched():
    t = output()
    loss = t.sum()
    t.data.add_(1)
    loss.backward()


def test_the_unpacked_output_shares_the_version_counter():
    t = output()
    unpacked = t.grad_fn._saved_result
    assert unpacked._version == t._version == 0
    with torch.no_grad():
        t.add_(1)
    assert unpacked._version == t._version == 1
    with torch.no_grad():
        unpacked.add_(1)
    assert unpacked._version == t._version == 2


def test_raw_saved_output_is_watched_too():
    t = output()
    node, loss = t.grad_fn, t.sum()
    raw = node._raw_saved_result
    with torch.no_grad():
        t.add_(1)
    assert raw is node._raw_saved_result
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


def test_an_output_is_not_kept_alive_by_its_node():
    gc.disable()
    try:
        t = output()
        node, gone = t.grad_fn, weakref.ref(t)
        del t
        assert gone() is None
        assert node._saved_result.grad_fn is node
    finally:
        gc.enable()


def test_a_size_that_the_argument_does_not_have_is_refused():
    matrix = torch.ones(3, 3)
    with pytest.raises(IndexError) as caught:
        torch.addbmm(torch.ones(3, 3, requires_grad=True), matrix, matrix)
    assert str(caught.value) == "Dimension out of range (expected to be in range of [-2, 1], but got 2)"


def test_unpacked_results_without_derivatives_stay_without_history():
    x, target = torch.zeros(2, 3, requires_grad=True), torch.tensor([0, 2])
    weight = torch.tensor([1.0, 2.0, 3.0])
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        loss = torch.nn.functional.cross_entropy(x, target, weight=weight)
    (grad,) = torch.autograd.grad(loss, x, create_graph=True)
    (second,) = torch.autograd.grad(grad[0, 0], x)
    torch.testing.assert_close(second[0], torch.tensor([2.0, -1.0, -1.0]) / 36)


def test_packed_values_are_unpacked_once_and_in_the_order_of_their_names() -> None:
    a, b = (torch.linspace(0.5, 2, n).requires_grad_() for n in (3, 1))
    for function, inputs, expected in ((torch.where, (a > 1, a, b), [3]), (torch.pow, (a, b), [1, 3, 3]),
                                       (torch.atan2, (a, b), [1, 3]), (torch.div, (a, b), [1, 3])):
        seen: list[Any] = []
        hooks = torch.autograd.graph.saved_tensors_hooks(
            lambda t, seen=seen: (seen.append(("pack", t.numel())), t)[1],
            lambda t, seen=seen: (seen.append(("unpack", t.numel())), t)[1])
        with hooks:
            made = function(*inputs)
        made.sum().backward()
        assert seen == [(step, n) for step in ("pack", "unpack") for n in expected], function


def test_checkpointed_function_may_save_a_tensor_that_two_gradients_need() -> None:
    x = torch.linspace(-1, 1, 4, requires_grad=True)
    torch.utils.checkpoint.checkpoint(lambda x: torch.where(x > 0, x, -x), x, use_reentrant=False).sum().backward()
    assert x.grad.tolist() == [-1.0, -1.0, 1.0, 1.0]
