"""What tests of compiled programs use: counting backends, limits on recompiling, sizes that are declared not to change."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.compile.errors import FailOnRecompileLimitHit, RecompileError
from retrograd.compile.state import LOGS, config, counters, set_logs
from retrograd.compiler.testing import (
    CompileCounter,
    CompileCounterWithBackend,
    EagerAndRecordGraphs,
    maybe_enable_compiled_autograd,
    normalize_gm,
    rand_strided,
    same,
)


def test_counters_count_graphs_and_ops() -> None:
    counter = CompileCounterWithBackend("eager")

    def f(x: Any) -> Any:
        y = x.sin()
        torch.compiler.graph_break()
        return y.cos() + 1
    g = torch.compile(f, backend=counter)
    for _ in range(3):
        g(torch.ones(2))
    assert (counter.frame_count, counter.op_count, len(counter.graphs)) == (2, 3, 2)
    counter.clear()
    assert (counter.frame_count, counter.op_count, counter.graphs) == (0, 0, [])


def test_kept_graphs_can_be_run() -> None:
    backend = EagerAndRecordGraphs()
    torch.compile(lambda x: x.sin() + 1, backend=backend)(torch.ones(2))
    graph, = backend.graphs
    assert torch.equal(graph(torch.zeros(2))[0], torch.ones(2))


def test_functions_are_compiled_only_so_often() -> None:
    torch.compiler.reset()
    counter = CompileCounter()
    with config.patch(recompile_limit=2):
        f = torch.compile(lambda x: x * 2, backend=counter, dynamic=False)
        for n in range(2, 7):
            assert torch.equal(f(torch.ones(n)), torch.full((n,), 2.0))
        assert counter.frame_count == 2
        with config.patch(fail_on_recompile_limit_hit=True), pytest.raises(FailOnRecompileLimitHit, match="recompile_limit"):
            f(torch.ones(9))
    with config.patch(error_on_recompile=True), pytest.raises(RecompileError):
        f(torch.ones(10))


def test_sizes_can_be_declared_not_to_change() -> None:
    torch.compiler.reset()
    counter = CompileCounter()
    f = torch.compile(lambda x: x * 2, backend=counter, dynamic=True)
    for n in (3, 4):
        x = torch.ones(n, 2)
        torch.compiler.mark_static(x, 0)
        f(x)
    assert counter.frame_count == 2


def test_sizes_become_symbols_only_if_that_is_wanted() -> None:
    torch.compiler.reset()
    counter = CompileCounter()
    f = torch.compile(lambda x: x * 2, backend=counter)
    with config.patch(automatic_dynamic_shapes=False):
        for n in (3, 4, 5):
            f(torch.ones(n))
    assert counter.frame_count == 3


def test_logs_that_are_not_named_are_switched_off() -> None:
    set_logs(compiled_autograd=True)
    assert LOGS["compiled_autograd"].level
    set_logs()
    assert not LOGS["compiled_autograd"].level


def test_scope_of_compiled_autograd() -> None:
    counters.clear()
    for on in (False, True):
        x = torch.ones(2, requires_grad=True)
        with maybe_enable_compiled_autograd(on):
            (x * 2).sum().backward()
        assert x.grad.tolist() == [2, 2]
    assert counters["compiled_autograd"]["captures"] == 1
    counters.clear()


def test_comparing_results_and_texts() -> None:
    assert same({"a": [torch.ones(2)]}, {"a": [torch.ones(2) + 1e-6]}) and not same([torch.ones(2)], [torch.ones(3)])
    assert normalize_gm("def f():\n    # a comment\n    x = 1  # another\n") == "def f():\n    x = 1\n"
    assert rand_strided((3, 2), (1, 4)).stride() == (1, 4)
