"""The public graph module: virtual Node, hooks on saved tensors and on several tensors, mutation of saved tensors."""
from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import graph
from retrograd.core.state import switches, tls


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path
    yield
    assert (switches.any_mode, tls.slow_path) == before


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def test_node_is_a_virtual_base() -> None:
    node = leaf(1.0).exp().grad_fn
    assert isinstance(node, graph.Node)
    assert issubclass(type(node), graph.Node)
    assert graph.Node not in type(node).mro()
    assert isinstance(node.next_functions[0][0], graph.Node)
    assert not isinstance(None, graph.Node)
    assert not isinstance(graph.Node, graph.Node)
    assert issubclass(graph.Node, graph.Node)


def test_edge_of_a_leaf_is_its_accumulator() -> None:
    x = leaf(1.0)
    y = x * 2
    edge = graph.get_gradient_edge(x)
    assert edge.node is y.grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(torch.ones(1))


def test_inputs_are_packed_before_the_kernel_and_outputs_after() -> None:
    seen: list[Any] = []

    class Log(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = leaf(1.0)
    with Log(), graph.saved_tensors_hooks(lambda t: seen.append("pack") or t, lambda t: t):
        x.sin()
        x.exp()
    assert seen == ["pack", "sin.default", "exp.default", "pack"]


def test_inner_hooks_win_and_errors_keep_their_type() -> None:
    class Oops(Exception):
        pass

    def fail(t: Any) -> Any:
        raise Oops

    x = leaf(3.0)
    with graph.saved_tensors_hooks(fail, fail):
        with graph.saved_tensors_hooks(lambda t: t * 5, lambda t: t):
            y = x * x
        with pytest.raises(Oops):
            x * x
    y.backward()
    assert x.grad.item() == 30.0


def test_numbers_are_never_given_to_hooks() -> None:
    packed: list[Any] = []
    x = leaf(3.0)
    with graph.saved_tensors_hooks(lambda t: packed.append(t) or t, lambda t: t):
        (x * 2) * 3.0
    assert packed == []


def test_pack_hook_must_not_write() -> None:
    x = leaf(1.0)
    with graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t), pytest.raises(
            RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        (x * 1).sin()


def test_unpacked_output_has_the_node_again() -> None:
    y = leaf(1.0).exp()
    y.grad_fn._raw_saved_result.register_hooks(lambda t: t, lambda t: t)
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn


def test_register_hooks_checks_its_arguments() -> None:
    y = leaf(1.0).exp()
    saved = y.grad_fn._raw_saved_result
    with pytest.raises(TypeError, match="incompatible function arguments"):
        saved.register_hooks(lambda t: t)
    saved.register_hooks(lambda t: t, lambda t: 1)
    with pytest.raises(RuntimeError, match="already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="expected to be a Tensor but got result of type int"):
        y.backward()


def test_hooks_entered_in_backward_end_with_it() -> None:
    def scope() -> Any:
        def unpack(t: Any) -> Any:
            context().__enter__()
            return t
        hooks = graph.saved_tensors_hooks(lambda t: t, unpack)
        context = weakref.ref(hooks)
        with hooks:
            leaf(1.0).sin().backward()
        return weakref.ref(unpack)

    gc.disable()
    try:
        assert scope()() is None
    finally:
        gc.enable()


def test_disabled_hooks_raise_the_message() -> None:
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"):
            hooks.__enter__()
        with pytest.raises(RuntimeError, match="outer"):
            hooks.__enter__()
    with hooks, pytest.raises(RuntimeError, match="too late"), graph.disable_saved_tensors_hooks("too late"):
        pass


def test_save_on_cpu_gives_the_same_gradient() -> None:
    x = leaf(2.0)
    with graph.save_on_cpu():
        y = x ** 3
    y.backward()
    assert x.grad.item() == 12.0


def test_multi_grad_hook_waits_for_all_that_are_reached() -> None:
    a, b, c = leaf(1.0), leaf(2.0), leaf(3.0)
    calls: list[Any] = []
    handle = graph.register_multi_grad_hook((a, b, c), lambda grads: calls.append([g is not None for g in grads]))
    (a * b).sum().backward()
    assert calls == [[True, True, False]]
    (a * b).sum().backward(inputs=(a,))
    assert calls[1:] == [[True, False, False]]
    handle.remove()
    (a * b).sum().backward()
    assert len(calls) == 2


def test_multi_grad_hook_does_not_keep_a_leaf_alive() -> None:
    x = leaf(1.0)
    graph.register_multi_grad_hook((x, x * 2), lambda grads: None)
    gone = weakref.ref(x)
    gc.disable()
    try:
        del x
        assert gone() is None
    finally:
        gc.enable()


def test_multi_grad_hook_any_fires_once_per_pass() -> None:
    a, b = leaf(1.0), leaf(2.0)
    calls: list[Any] = []
    graph.register_multi_grad_hook((a, b), calls.append, mode="any")
    for _ in range(2):
        (a * b).sum().backward()
    assert len(calls) == 2
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got foo"):
        graph.register_multi_grad_hook((a, b), calls.append, mode="foo")


def test_increment_version_makes_a_saved_tensor_stale() -> None:
    x = leaf(1.0)
    y = (x * 1).sin()
    graph.increment_version(y.grad_fn._saved_self)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_write_to_a_saved_tensor_is_allowed_in_the_scope() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        x = leaf(1.0, 2.0)
        y = x.clone()
        view = y[:1]
        out = (y ** 2).sum()
        assert len(context.tid_to_weakhandle) == 1
        view.mul_(10)
        assert len(context.cloned) == 1
        out.backward()
        assert len(context.cloned) == 0
    assert x.grad.tolist() == [2.0, 4.0]


def test_out_of_place_write_counts_as_a_write() -> None:
    with graph.allow_mutation_on_saved_tensors() as context:
        x, weight = leaf(3.0), torch.tensor([1.0])
        out = x * weight
        torch.sin(torch.tensor([2.0]), out=weight)
        assert len(context.cloned) == 1
        out.backward()
    assert x.grad.item() == 1.0


def test_backward_outside_the_scope_and_nesting_are_refused() -> None:
    with graph.allow_mutation_on_saved_tensors():
        out = (leaf(1.0) ** 2).sum()
        with pytest.raises(RuntimeError, match="contexts cannot be nested"), graph.allow_mutation_on_saved_tensors():
            pass
    with pytest.raises(AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"):
        out.backward()
