"""What can be observed of captured passes besides gradients: their graphs, what modes see, and how logs name nodes."""
from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd import nn
from retrograd.autograd import Function
from retrograd.compile import compiled_autograd, state
from retrograd.overrides import TorchFunctionMode
from retrograd.utils._python_dispatch import TorchDispatchMode
from retrograd.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def graphs_of(program: Callable[[], Any]) -> list[list[str]]:
    """The graphs that a backend gets for a pass, as the names of their calls."""
    found: list[list[str]] = []

    def backend(module: Any, inputs: Any) -> Any:
        found.append([node.name for node in module.graph.nodes if node.op == "call_function"])
        return module.forward
    with compiled_autograd.enable(lambda module: torch.compile(module, backend=backend, dynamic=True)):
        program()
    return found


def test_check_of_the_first_gradient_before_a_break_is_a_graph() -> None:
    leaf = torch.rand(3, requires_grad=True)

    def program() -> None:
        leaf.grad = None
        checkpoint(lambda t: (t.sin() * t.cos()).sum(), leaf, use_reentrant=True).backward()
    graphs = graphs_of(program)
    assert len(graphs) == 3
    assert graphs[0] == ["getitem", "checked"]
    leaf.grad = None
    program()
    expected = torch.cos(2 * leaf.detach())
    torch.testing.assert_close(leaf.grad, expected)


@pytest.mark.parametrize("selective", [False, True])
def test_equal_graphs_at_different_places_of_a_pass_are_compiled_each(selective: bool) -> None:
    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        return CheckpointPolicy.MUST_RECOMPUTE if op is torch.ops.aten.addmm.default else CheckpointPolicy.PREFER_SAVE
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(4)])
    options = {"context_fn": lambda: create_selective_checkpoint_contexts(policy)} if selective else {}

    def program() -> None:
        checkpoint(net, torch.ones(1, 4), use_reentrant=False, **options).sum().backward()
    assert len(graphs_of(program)) == 5


class Total(Function):
    @staticmethod
    def forward(ctx: Any, t: Any) -> Any:
        ctx.save_for_backward(t)
        return t.sum()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (t,) = ctx.saved_tensors
        return torch.ones_like(t) * grad


def test_dispatch_modes_see_symbolic_sizes_as_empty_tensors() -> None:
    seen: list[str] = []

    class Listening(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))
    leaf = torch.rand(2, 2, requires_grad=True)
    for dynamic, sizes in ((True, 6), (False, 0)):
        loss = Total.apply(leaf * torch.ones(2, 2) * torch.ones(2, 2))
        seen.clear()
        with compiled_autograd.enable(lambda module: module, dynamic=dynamic), Listening():
            loss.backward()
        assert seen == ["ones_like.default", *["empty.memory_format"] * sizes, "ones_like.default", *["mul.Tensor"] * 3,
                        *(["new_empty_strided.default", "copy_.default"] if dynamic else ["add_.Tensor"])]


def test_function_modes_see_that_multithreading_is_switched() -> None:
    seen: list[Any] = []

    class Listening(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append((func.__name__, args))
            return func(*args, **(kwargs or {}))
    with Listening():
        with torch.autograd.set_multithreading_enabled(False):
            seen.append(torch.autograd.is_multithreading_enabled())
        with compiled_autograd.enable(lambda module: module):
            seen.append(torch.autograd.is_multithreading_enabled())
    off, on = ("_set_multithreading_enabled", (False,)), ("_set_multithreading_enabled", (True,))
    assert seen == [off, False, on, off, False, on]
    assert torch.autograd.is_multithreading_enabled()


def test_logs_name_the_nodes_of_a_compiled_forward_as_one(caplog: pytest.LogCaptureFixture) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    forward = torch.compile(lambda t: net(t))
    loss = forward(torch.ones(2, 4)).sum()
    state.verbose_log.addHandler(caplog.handler)
    was = state.verbose_log.level
    state.verbose_log.setLevel(logging.DEBUG)
    try:
        with compiled_autograd.enable(lambda module: module):
            loss.backward()
    finally:
        state.verbose_log.setLevel(was)
        state.verbose_log.removeHandler(caplog.handler)
    text = caplog.text
    (number,) = {line.partition("CompiledFunctionBackward")[2].partition(" ")[0] for line in text.splitlines()
                 if "CompiledFunctionBackward" in line and "code:" in line}
    assert f"code: CompiledFunctionBackward{number} (NodeCall 2)" in text
    assert f"aot{number}_relu" in text
    assert "SumBackward0 (NodeCall 1)" in text
    assert {f"torch::autograd::AccumulateGrad (NodeCall {n})" in text for n in (3, 4, 5, 6)} == {True}
    assert "(NodeCall 7)" not in text
