"""Hooks: the order in which kinds of them run, what they may return, when they are removed, and who keeps a gradient."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function

grad = torch.autograd.grad


def leaf(*values: float) -> Any:
    return torch.tensor(list(values), requires_grad=True)


def note(log: list[Any], name: str) -> Any:
    return lambda *given: log.append(name)


# ---- order
def test_hooks_of_all_kinds_run_in_their_order() -> None:
    log: list[Any] = []
    x = leaf(1.0)
    y = x * 2
    node, sink = y.grad_fn, y.grad_fn.next_functions[0][0]
    node.register_hook(note(log, "after the node"))
    node.register_prehook(note(log, "before the node"))
    y.register_hook(note(log, "tensor 1"))
    y.register_hook(note(log, "tensor 2"))
    node.register_hook(note(log, "after the node, too"))
    sink.register_hook(note(log, "after the accumulator"))
    sink.register_prehook(note(log, "before the accumulator"))
    x.register_post_accumulate_grad_hook(note(log, "accumulated"))
    x.register_hook(note(log, "leaf"))
    y.backward()
    assert log == ["tensor 1", "tensor 2", "before the node", "after the node", "after the node, too",
                   "leaf", "before the accumulator", "accumulated", "after the accumulator"]


def test_a_retained_gradient_is_the_one_that_tensor_hooks_leave() -> None:
    y = leaf(1.0) * 2
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 100,))
    y.register_hook(lambda g: g * 10)
    y.backward()
    assert y.grad.item() == 10.0


def test_the_hooks_of_all_outputs_of_a_node_run() -> None:
    log: list[Any] = []
    low, high = torch.arange(4.0).requires_grad_().split(2)
    high.register_hook(lambda g: log.append(("high", g.tolist())))
    low.register_hook(lambda g: log.append(("low", g)))
    (high * 3).sum().backward()
    assert log == [("high", [3.0, 3.0]), ("low", None)]


def test_a_hook_cannot_make_a_gradient_out_of_none() -> None:
    low, high = torch.arange(4.0).requires_grad_().split(2)
    low.register_hook(lambda g: torch.zeros(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        high.sum().backward()


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize("make", [list, lambda grads: grads[0], lambda grads: 5])
def test_a_node_hook_must_return_a_tuple(register: str, make: Any) -> None:
    y = leaf(1.0) * 3
    getattr(y.grad_fn, register)(lambda *given: make(given[0]))
    with pytest.raises(TypeError, match="expected tuple, but hook returned '(list|Tensor|int)'"):
        y.backward()


def test_what_one_hook_returns_the_next_one_gets() -> None:
    seen: list[float] = []
    x = leaf(1.0)
    for factor in (2.0, 5.0):
        x.register_hook(lambda g, factor=factor: (seen.append(g.item()), g * factor)[1])
    (x * 3).backward()
    assert seen == [3.0, 6.0] and x.grad.item() == 30.0


# ---- what node hooks get
def test_node_hooks_see_and_replace_the_gradients_on_both_sides() -> None:
    seen: list[Any] = []
    a, b = leaf(2.0), leaf(3.0)

    def before(grads: Any) -> Any:
        seen.append([g.item() for g in grads])
        return (grads[0] * 10,)

    def after(results: Any, grads: Any) -> Any:
        seen.append(([g.item() for g in results], [g.item() for g in grads]))
        return results[0] * 2, None

    out = a * b
    out.grad_fn.register_prehook(before)
    out.grad_fn.register_hook(after)
    out.backward()
    assert seen == [[1.0], ([30.0, 20.0], [10.0])]
    assert a.grad.item() == 60.0 and b.grad is None


def test_a_missing_gradient_is_none_for_node_hooks() -> None:
    seen: list[Any] = []
    low, high = torch.arange(4.0).requires_grad_().split(2)
    low.grad_fn.register_prehook(lambda grads: seen.append([g is None for g in grads]))
    high.sum().backward()
    assert seen == [[True, False]]


def test_a_post_hook_registered_while_the_node_runs_does_not_know_its_inputs() -> None:
    seen: list[Any] = []

    class Late(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            ctx.register_hook(lambda results, grads: seen.append((results[0].item(), grads)))
            return g * 4

    Late.apply(leaf(1.0)).backward()
    assert [value for value, _ in seen] == [4.0]


# ---- results that do not fit
def changed(g: Any) -> Any:
    return torch.zeros(4)


def retyped(g: Any) -> Any:
    return g.double()


@pytest.mark.parametrize(("hook", "error", "message"), [
    (changed, RuntimeError, "hook 'changed' has changed the size of value"),
    (retyped, RuntimeError, r"hook 'retyped' has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)"),
    (lambda g: "text", TypeError, "expected Variable, but hook returned 'str'"),
    (lambda g: 5, TypeError, "expected Variable, but hook returned 'int'"),
])
@pytest.mark.parametrize("on", ["leaf", "result"])
def test_a_tensor_hook_must_return_a_gradient_like_the_one_it_got(hook: Any, error: Any, message: str, on: str) -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    (x if on == "leaf" else y).register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


def too_many(*given: Any) -> Any:
    return given[0][0], given[0][0], given[0][0]


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
def test_a_node_hook_must_return_as_many_gradients(register: str) -> None:
    y = leaf(1.0).exp()
    getattr(y.grad_fn, register)(too_many)
    with pytest.raises(RuntimeError, match=r"hook 'too_many' has returned an incorrect number of values "
                                           r"\(got 3, but expected 1\)"):
        y.backward()


def test_a_node_hook_must_return_gradients_of_the_same_size() -> None:
    def other_size(results: Any, grads: Any) -> Any:
        return (torch.zeros(9),)

    y = leaf(1.0).exp()
    y.grad_fn.register_hook(other_size)
    with pytest.raises(RuntimeError, match="hook 'other_size' has changed the size of value"):
        y.backward()


def test_an_error_in_a_hook_comes_out_of_backward() -> None:
    class Mine(Exception):
        pass

    def fail(g: Any) -> None:
        raise Mine("stop")

    x = leaf(1.0)
    handle = x.register_hook(fail)
    with pytest.raises(Mine, match="stop"):
        (x * 2).backward()
    assert x.grad is None
    handle.remove()
    (x * 2).backward()
    assert x.grad.item() == 2.0


# ---- registering
def test_hooks_need_a_tensor_that_wants_a_gradient() -> None:
    plain = torch.ones(1)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        plain.register_hook(lambda g: None)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        plain.register_post_accumulate_grad_hook(lambda g: None)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        plain.retain_grad()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        (leaf(1.0) * 1).register_post_accumulate_grad_hook(lambda g: None)


def test_a_handle_removes_its_hook_once_and_as_a_scope() -> None:
    calls: list[Any] = []
    x = leaf(1.0)
    handle = x.register_hook(calls.append)
    other = x.register_hook(calls.append)
    handle.remove()
    handle.remove()
    (x * 1).backward()
    assert len(calls) == 1
    other.remove()
    with x.register_hook(calls.append):
        (x * 1).backward()
    (x * 1).backward()
    assert len(calls) == 2


def test_a_hook_that_removes_another_one_does_not_stop_this_run() -> None:
    log: list[str] = []
    x = leaf(1.0)
    handles: list[Any] = []
    x.register_hook(lambda g: (log.append("first"), handles[0].remove())[0])
    handles.append(x.register_hook(note(log, "second")))
    x.register_hook(note(log, "third"))
    (x * 1).backward()
    (x * 1).backward()
    assert log[-2:] == ["first", "third"]


def test_a_hook_may_be_registered_by_a_hook_for_the_next_run() -> None:
    log: list[str] = []
    x = leaf(1.0)
    handle = x.register_hook(lambda g: (log.append("outer"), x.register_hook(note(log, "inner")))[0])
    (x * 1).backward()
    handle.remove()
    (x * 1).backward()
    assert log == ["outer", "inner"]


def test_a_tensor_hook_stays_with_the_node_that_was_there() -> None:
    log: list[Any] = []
    x = leaf(2.0)
    y = x * 1
    y.register_hook(lambda g: log.append(("before the write", g.item())))
    y.mul_(5)
    y.register_hook(lambda g: log.append(("after the write", g.item())))
    (y * 3).backward()
    assert log == [("after the write", 3.0), ("before the write", 15.0)]


def test_a_hook_on_a_view_sees_the_part() -> None:
    seen: list[Any] = []
    base = leaf(1.0, 2.0, 3.0) * 1
    view = base[1:]
    view.register_hook(lambda g: seen.append(g.tolist()))
    (view * torch.tensor([5.0, 7.0])).sum().backward()
    assert seen == [[5.0, 7.0]]


# ---- retain_grad
def test_retain_grad_moves_with_a_tensor_that_is_written_to() -> None:
    x = leaf(2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(5)
    assert y.retains_grad
    (y * 3).backward()
    assert y.grad.item() == 3.0


def test_retain_grad_is_once_and_does_nothing_to_leaves() -> None:
    x = leaf(2.0)
    x.retain_grad()
    assert not x.retains_grad
    y = x * 1
    y.retain_grad()
    y.retain_grad()
    (y * 3).backward(retain_graph=True)
    assert y.grad.item() == 3.0
    (y * 4).backward()
    assert y.grad.item() == 7.0


def test_retain_grad_does_not_keep_the_tensor_alive() -> None:
    x = leaf(1.0)
    y = x * 1
    y.retain_grad()
    out = y * 2
    gone = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert gone() is None
        out.backward()
    finally:
        gc.enable()
    assert x.grad.item() == 2.0


def test_retained_gradient_of_grad_is_kept_where_the_tensor_is_on_the_way() -> None:
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    grad(y * 3, x)
    assert y.grad.item() == 3.0


# ---- in place
def test_a_hook_that_writes_changes_the_gradient_it_was_given() -> None:
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: (g.mul_(5), None)[1])
    (y * 3).backward()
    assert x.grad.item() == 30.0


# ---- after accumulation
def test_post_accumulate_hooks_see_the_sum_and_may_clear_it() -> None:
    seen: list[float] = []
    x = leaf(1.0)

    def consume(t: Any) -> None:
        assert t is x
        seen.append(t.grad.item())
        if len(seen) == 2:
            t.grad = None

    x.register_post_accumulate_grad_hook(consume)
    for _ in range(3):
        (x * 3).backward()
    assert seen == [3.0, 6.0, 3.0]


def test_post_accumulate_hooks_return_nothing() -> None:
    x = leaf(1.0)
    with x.register_post_accumulate_grad_hook(lambda t: t * 2), pytest.raises(
            RuntimeError, match="Tensor post accumulate grad hooks should return None."):
        (x * 1).backward()
    with x.register_post_accumulate_grad_hook(lambda t: 5), pytest.raises(
            TypeError, match="expected Variable, but hook returned 'int'"):
        (x * 1).backward()


def test_post_accumulate_hooks_do_not_run_for_grad() -> None:
    x = leaf(1.0)
    x.register_post_accumulate_grad_hook(lambda t: pytest.fail("nothing was accumulated"))
    assert grad(x * 2, x)[0].item() == 2.0


def test_post_accumulate_hook_that_steps() -> None:
    x = leaf(1.0)

    def step(t: Any) -> None:
        with torch.no_grad():
            t -= 0.5 * t.grad
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.item() == 0.0 and x.grad is None


# ---- leaves and captures
def test_leaf_hooks_run_for_grad_and_their_result_is_captured() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g + 100)
    assert grad(x * 2, x)[0].item() == 102.0
    y = x * 3
    y.register_hook(lambda g: g * 10)
    assert [g.item() for g in grad(y * y, y)] == [60.0]


def test_node_pre_hooks_do_not_run_where_a_gradient_is_only_captured() -> None:
    log: list[str] = []
    x = leaf(1.0)
    y = x * 3
    y.grad_fn.register_prehook(note(log, "node"))
    y.register_hook(note(log, "tensor"))
    grad(y * y, y)
    assert log == ["tensor"]


def test_leaf_hook_runs_once_for_a_gradient_of_many_parts() -> None:
    seen: list[float] = []
    x = leaf(1.0)
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3 + x.exp() * 0).backward()
    assert seen == [5.0]


# ---- several tensors
def test_multi_grad_hook_gets_gradients_by_place() -> None:
    seen: list[Any] = []
    a, b = leaf(1.0), leaf(2.0)
    c = a * b
    torch.autograd.graph.register_multi_grad_hook(
        (c, a, b), lambda grads: seen.append([None if g is None else g.item() for g in grads]))
    (c * 5).backward()
    assert seen == [[5.0, 10.0, 5.0]]


# ---- what hooks on nodes see
def test_hooks_after_a_node_see_gradients_of_the_inputs_shapes_and_dtypes() -> None:
    seen: list[Any] = []
    x, y = leaf(1.0), torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    out = x * y
    out.grad_fn.register_hook(lambda inputs, outputs: seen.extend(inputs))
    out.sum().backward()
    assert [(tuple(g.shape), g.dtype) for g in seen] == [((1,), torch.float32), ((2, 3), torch.float64)]


def test_hooks_see_no_gradients_of_indices() -> None:
    seen: list[Any] = []
    values, _ = leaf(2.0, 1.0).sort()
    assert len(values.grad_fn._input_metadata) == 1
    values.grad_fn.register_prehook(lambda outputs: seen.append(len(outputs)))
    values.grad_fn.register_hook(lambda inputs, outputs: seen.append(len(outputs)))
    values.sum().backward()
    assert seen == [1, 1]
