"""Gradients of joint nodes: whose memory they are in, what hooks see, and which writes they forbid."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.compile.state import backend_config

CALLS = 5                 # ops wait from the first on, and are compiled after the third


@pytest.fixture(autouse=True)
def deferred() -> Iterator[None]:
    torch.compiler.reset()
    with backend_config.patch(fusion_threshold=0, fusion_code=False):
        yield
    torch.compiler.reset()


def leaf(start: float = 0.5) -> Any:
    return torch.linspace(start, 1.5, 3).requires_grad_()


def test_gradients_of_two_inputs_do_not_share_memory() -> None:
    f = torch.compile(lambda a, b: a + b)
    for _ in range(CALLS):
        a, b = leaf(), leaf(0.25)
        for _ in range(2):
            f(a, b).sum().backward()
        assert a.grad.tolist() == b.grad.tolist() == [2.0] * 3
        a.grad.zero_()
        assert b.grad.tolist() == [2.0] * 3


def test_gradient_that_is_passed_on_stays_the_callers() -> None:
    f = torch.compile(lambda a: a + (a * 0.0).detach())
    for _ in range(CALLS):
        a, grad = leaf(), torch.ones(3)
        f(a).backward(grad)
        a.grad.mul_(5)
        assert grad.tolist() == [1.0] * 3


def test_hooks_see_what_second_derivatives_add() -> None:
    def observe(f: Any, look: bool) -> list[Any]:
        a, seen = leaf(), []
        y = f(a)
        if look:
            y.grad_fn.name()
        y.register_hook(lambda grad: seen.append([round(n, 4) for n in grad.tolist()]))
        first, = torch.autograd.grad(y.sum(), a, create_graph=True)
        second, = torch.autograd.grad(first.sum(), a)
        return [seen, [round(n, 4) for n in second.tolist()]]

    def function(a: Any) -> Any:
        return (a * a).sigmoid()
    compiled = torch.compile(function)
    for call in range(2 * CALLS):
        assert observe(compiled, call % 2 == 0) == observe(function, False)
        assert len(observe(function, False)[0]) == 2


def test_input_may_be_written_to_if_no_node_has_saved_it() -> None:
    def function(a: Any) -> Any:
        total = a.sum()
        return total ** 2, total.exp()
    f = torch.compile(function)
    for call in range(CALLS):
        a, b = leaf(), leaf()
        square, other = f(a)
        expected, _ = function(b)
        with torch.no_grad():
            a.add_(1.0)
        results = []
        for t, y in ((a, square), (b, expected)):
            first, = torch.autograd.grad(y, t, create_graph=True)
            second, = torch.autograd.grad(first.sum(), t, retain_graph=True)
            results.append((first.tolist(), second.tolist()))
        assert results[0] == results[1], call
        if call % 2:
            other.backward()              # one of two results alone
            assert a.grad is not None


def test_values_that_are_not_needed_forbid_no_writes() -> None:
    def function(a: Any, b: Any) -> Any:
        mean = a.mean()
        unused = mean / (a * a + 1.5)
        b / (unused * unused + 1.5)
        return mean + b
    f = torch.compile(function)
    for _ in range(CALLS):
        a, b = leaf(), leaf()
        y = f(a, b)
        with torch.no_grad():
            a.add_(1.0)
        y.sum().backward()
        assert a.grad.tolist() == b.grad.tolist() == [1.0] * 3


def test_saved_values_that_were_written_to_are_refused() -> None:
    f = torch.compile(lambda a: (a * a).sin())
    for _ in range(CALLS):
        a = leaf()
        y = f(a)
        with torch.no_grad():
            a.add_(1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
