"""Messages of compiled functions: why they are compiled again, and where their graphs break."""
from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.compile import state
from retrograd.compile.errors import RecompileError, Unsupported


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def scaled(t: Any, factor: float) -> Any:
    return t * factor


def test_recompiles_log_names_the_function_and_what_changed(caplog: pytest.LogCaptureFixture) -> None:
    f = torch.compile(scaled)
    was = state.recompiles_log.level
    state.recompiles_log.addHandler(caplog.handler)
    state.recompiles_log.setLevel(logging.DEBUG)
    try:
        f(torch.ones(3, 2), 2.5)
        f(torch.ones(4, 2), 3.5)
    finally:
        state.recompiles_log.setLevel(was)
        state.recompiles_log.removeHandler(caplog.handler)
    assert "Recompiling function scaled in " in caplog.text
    assert "- variant 0: input 0 size mismatch at index 0. expected 3, actual 4" in caplog.text
    assert "- variant 0: argument of op 0 mismatch. expected 2.5, actual 3.5" in caplog.text
    assert "index 1" not in caplog.text


def test_error_on_recompile_says_what_changed() -> None:
    f = torch.compile(scaled, dynamic=False)
    with state.config.patch(error_on_recompile=True):
        f(torch.ones(3), 2.0)
        with pytest.raises(RecompileError, match=r"input 0 size mismatch at index 0\. expected 3, actual 4"):
            f(torch.ones(4), 2.0)
        with pytest.raises(RecompileError, match="other ops, or inputs of other types"):
            f(torch.ones(3, dtype=torch.float64), 2.0)


def test_breaks_name_the_line_of_the_program() -> None:
    def f(t: Any) -> Any:
        print("seen")
        return t
    with pytest.raises(Unsupported) as raised:
        torch.compile(f, fullgraph=True)(torch.ones(2))
    assert 'print("seen")' in str(raised.value)
    assert "contextlib" not in str(raised.value)
