"""torch.jit without a compiler: what was given comes back, and runs."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd import jit


def double(x: Any) -> Any:
    return x * 2


@pytest.mark.parametrize("decorate", [
    jit.script, jit.script_method, jit.script_if_tracing, jit.export, jit.unused, jit.ignore, jit.ignore(drop=True),
    lambda f: jit.trace(f, torch.ones(1)), lambda f: jit.trace_module(f, {"forward": torch.ones(1)}),
])
def test_function_comes_back(decorate: Any) -> None:
    assert decorate(double) is double


def test_fork_runs_at_once_and_is_recorded() -> None:
    x = torch.ones(2, requires_grad=True)
    future = jit.fork(double, x)
    assert future.done()
    assert torch.equal(future.value(), double(x))
    future.then(lambda f: jit.wait(f) + 1).wait().sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_error_of_a_fork_is_raised_there() -> None:
    with pytest.raises(ZeroDivisionError):
        jit.fork(lambda: 1 // 0)


def test_only_futures_can_be_waited_for() -> None:
    with pytest.raises(TypeError, match="incompatible function arguments"):
        jit.wait(3)


def test_nothing_is_compiled() -> None:
    assert not jit.is_scripting()
    assert not jit.is_tracing()
    assert jit.annotate(int, 3) == 3
    assert jit.Attribute(3, int).value == 3


def test_python_functions_are_not_script_functions():
    assert not isinstance(lambda: None, torch.jit.ScriptFunction)
    with pytest.raises(TypeError, match="No constructor defined"):
        torch.jit.ScriptFunction()


def test_script_containers_hold_elements_of_one_type():
    from retrograd.jit._containers import ScriptDict, ScriptList

    items, table = ScriptList([1, 2]), ScriptDict({"a": 1})
    items.append(3)
    table["b"] = 2
    assert list(items) == [1, 2, 3] and str(items) == "[1, 2, 3]" and str(table) == "{a: 1, b: 2}" and "b" in table
    with pytest.raises(TypeError):
        items.append("x")
    with pytest.raises(TypeError):
        table[1] = 2
