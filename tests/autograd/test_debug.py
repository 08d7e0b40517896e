"""Stepping through backward: the same passes as `backward` makes, one node at a time, with gradients that can be changed."""
from __future__ import annotations

import gc
import io
import pdb
import sys
import traceback
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import Function, debug, set_detect_anomaly, trace_origins
from retrograd.core.state import switches, tls
from retrograd.core.warn import Shown


@pytest.fixture(autouse=True)
def state_is_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.task, tls.grad_enabled, tls.backward_depth
    given = set(Shown.texts)
    yield
    Shown.texts.intersection_update(given)        # other tests wait for warnings that are given once
    assert (switches.any_mode, tls.slow_path, tls.task, tls.grad_enabled, tls.backward_depth) == before


class Scale(Function):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        assert len(ctx.saved_tensors) == 1
        return grad * ctx.factor, None


class Split(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, a: Any, b: Any) -> Any:
        return a * 2 + b * 3


def chain(x: Any, w: Any) -> Any:
    return (x * w).tanh().exp().sum()


def diamond(x: Any, w: Any) -> Any:
    a = x * w
    return (a.exp() * a.sin() + a * a + w).sum()


def written(x: Any, w: Any) -> Any:
    base = x * 1
    base[1:].mul_(w[1:])
    base[0] = w[0] * 2
    return (base * base).sum()


def several(x: Any, w: Any) -> Any:
    first, second = Split.apply(x)
    top, _ = torch.stack([first * w, second]).max(0)
    return top.sum() + Scale.apply(first, 2.0).sum()


def broadcast(x: Any, w: Any) -> Any:
    return (x.unsqueeze(1) * w.sum() + torch.ones(2, 3, 4)).mean()


GRAPHS = [chain, diamond, written, several, broadcast]


def leaves() -> tuple[Any, Any]:
    return torch.tensor([0.5, -1.0, 2.0], requires_grad=True), torch.tensor([1.5, 0.25, -0.75], requires_grad=True)


def nodes_of(root: Any) -> list[Any]:
    found = [root]
    for node in found:
        for n, _ in node.next_functions:
            if n is not None and n not in found:
                found.append(n)
    return found


# ---- the same pass
@pytest.mark.parametrize("graph", GRAPHS)
def test_gradients_are_those_of_backward(graph: Any) -> None:
    x, w = leaves()
    expected = torch.autograd.grad(graph(x, w), [x, w])
    debug.step(graph(x, w)).finish()
    assert x.grad.tolist() == expected[0].tolist() and w.grad.tolist() == expected[1].tolist()


@pytest.mark.parametrize("graph", GRAPHS)
def test_order_is_that_of_backward(graph: Any) -> None:
    x, w = leaves()
    loss = graph(x, w)
    order: list[Any] = []
    for node in nodes_of(loss.grad_fn):
        node.register_prehook(lambda grads, node=node: order.append(node))
    loss.backward(retain_graph=True)
    by_engine = list(order)
    stepped = [s.node for s in debug.step(loss)]
    assert [n.name() for n in stepped] == [n.name() for n in by_engine] and stepped == by_engine
    assert order == by_engine * 2


@pytest.mark.parametrize("graph", GRAPHS)
def test_create_graph(graph: Any) -> None:
    x, w = leaves()
    grad, = torch.autograd.grad(graph(x, w), x, create_graph=True)
    expected = torch.autograd.grad(grad.sum(), [x, w], allow_unused=True, materialize_grads=True)
    x, w = leaves()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        debug.step(graph(x, w), create_graph=True).finish()
    assert x.grad.requires_grad
    again = torch.autograd.grad(x.grad.sum(), [x, w], allow_unused=True, materialize_grads=True)
    for a, b in zip(again, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-6)


def test_retain_graph_and_release() -> None:
    x, w = leaves()
    loss = chain(x, w)
    debug.step(loss, retain_graph=True).finish()
    debug.step(loss).finish()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        debug.step(loss).finish()


def test_gradients_are_added_to_what_is_there() -> None:
    x, w = leaves()
    x.grad = before = torch.ones(3)
    debug.step((x * w).sum()).finish()
    assert x.grad is before and before.tolist() == [2.5, 1.25, 0.25]


@pytest.mark.parametrize("graph", GRAPHS)
def test_inputs_limit_what_runs(graph: Any) -> None:
    x, w = leaves()
    expected, = torch.autograd.grad(graph(x, w), w)
    names = [s.name for s in debug.step(graph(x, w), inputs=[w])]
    assert x.grad is None and w.grad.tolist() == expected.tolist() and names.count("AccumulateGrad") == 1


def test_inputs_may_be_no_leaves() -> None:
    x, w = leaves()
    middle = x * w
    debug.step(middle.exp().sum(), inputs=middle).finish()
    assert x.grad is None and middle.grad.tolist() == middle.exp().tolist()


def test_inputs_that_the_graph_does_not_use_run_nothing() -> None:
    x, w = leaves()
    assert list(debug.step(x.exp().sum(), inputs=[w])) == [] and x.grad is None and w.grad is None


def test_several_roots_and_given_gradients() -> None:
    x, w = leaves()
    a, b = x * w, x * 2
    debug.step([a, b], [torch.ones(3), torch.full((3,), 10.0)]).finish()
    assert x.grad.tolist() == [21.5, 20.25, 19.25]


def test_leaf_as_a_root() -> None:
    x = torch.ones(2, requires_grad=True)
    step, = debug.step(x, torch.ones(2))
    assert step.leaf is x and x.grad.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("call", "text"), [
    (lambda x: debug.step(x), "grad can be implicitly created only for scalar outputs"),
    (lambda x: debug.step(x.sum().detach()), "element 0 of tensors does not require grad"),
    (lambda x: debug.step(x.sum(), inputs=[]), "`inputs` argument to `backward\\(\\)` cannot be empty."),
    (lambda x: debug.step(x.sum(), inputs=[x.detach()]), "can't retain_grad on Tensor that has requires_grad=False"),
    (lambda x: debug.step(x.sum(), []), "got 1 tensors and 0 gradients"),
])
def test_arguments_are_checked_as_by_backward(call: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        call(torch.ones(3, requires_grad=True))


def test_callbacks_run_at_the_end_only() -> None:
    x, w = leaves()
    loss = chain(x, w)
    ran: list[str] = []
    queue = torch.autograd.Variable._execution_engine.queue_callback
    loss.grad_fn.register_prehook(lambda grads: queue(lambda: ran.append("done")))
    steps = debug.step(loss)
    for _ in steps:
        assert ran == []
    assert ran == ["done"]


def test_hooks_run_once_and_in_order() -> None:
    x, w = leaves()
    y = x * w
    log: list[Any] = []
    y.register_hook(lambda grad: log.append("tensor") or grad * 2)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: log.append("pre"))
    y.grad_fn.register_hook(lambda inputs, outputs: log.append(("post", outputs[0].tolist())) or tuple(
        [None if g is None else g + 1 for g in inputs]))
    x.register_post_accumulate_grad_hook(lambda t: log.append("accumulated"))
    for s in debug.step(y.sum()):
        if s.name == "MulBackward0":
            assert s.incoming[0].tolist() == [1.0, 1.0, 1.0] and log == []
            s.run()
            assert log == ["tensor", "pre", ("post", [2.0, 2.0, 2.0])]
            assert s.incoming[0].tolist() == [2.0, 2.0, 2.0]
            assert s.outgoing[0].tolist() == [4.0, 1.5, -0.5]
    assert log[-1] == "accumulated" and y.grad.tolist() == [2.0, 2.0, 2.0] and x.grad.tolist() == [4.0, 1.5, -0.5]


def test_multi_grad_hook_is_called_once() -> None:
    x, w = leaves()
    seen: list[Any] = []
    torch.autograd.graph.register_multi_grad_hook((x, w), seen.append)
    debug.step(chain(x, w)).finish()
    assert len(seen) == 1 and all([g is not None for g in seen[0]])


def test_node_has_no_trace_of_the_debugger_afterwards() -> None:
    x, w = leaves()
    loss = diamond(x, w)
    debug.step(loss, retain_graph=True).finish()
    assert all([node._hooks_ is None for node in nodes_of(loss.grad_fn)])


def test_sparse_gradients() -> None:
    weight = torch.ones(4, 2, requires_grad=True)
    out = torch.nn.functional.embedding(torch.tensor([1, 1, 3]), weight, sparse=True)
    assert debug.step(out.sum()).continue_(until="nonfinite") is None
    assert weight.grad.is_sparse and weight.grad.to_dense().sum().item() == 6.0


def test_pass_within_a_step_and_between_steps() -> None:
    class Inner(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            with torch.enable_grad():
                inner = ctx.saved_tensors[0].detach().requires_grad_()
                debug.step((inner * 2).sum()).finish()
            return grad * inner.grad

    x, w = leaves()
    for _ in debug.step(Inner.apply(x).sum()):
        (w * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3 and w.grad.tolist() == [6.0] * 3


# ---- changing gradients
def test_incoming_gradient_can_be_replaced() -> None:
    x, w = leaves()
    for s in debug.step((x * w).sum()):
        if s.name == "MulBackward0":
            s.incoming[0] = torch.full((3,), 2.0)
    assert x.grad.tolist() == [3.0, 0.5, -1.5]


def test_gradient_of_a_leaf_can_be_replaced_and_dropped() -> None:
    x, w = leaves()
    for s in debug.step((x * w).sum()):
        if s.leaf is x:
            s.incoming[0] = torch.zeros(3)
        elif s.leaf is w:
            s.incoming[0] = None
    assert x.grad.tolist() == [0.0] * 3 and w.grad is None


def test_outgoing_gradient_can_be_replaced_and_dropped() -> None:
    x, w = leaves()
    for s in debug.step((x * w).sum()):
        if s.name == "MulBackward0":
            s.run().outgoing[0] = torch.full((3,), 7.0)
            s.outgoing[1] = None
    assert x.grad.tolist() == [7.0] * 3 and w.grad is None


def test_gradient_of_a_pass_that_makes_a_graph_can_be_replaced() -> None:
    x, w = leaves()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for s in debug.step((x * x).sum(), create_graph=True):
            if s.name == "MulBackward0":
                s.incoming[0] = s.incoming[0] * w
    assert torch.autograd.grad(x.grad.sum(), w)[0].tolist() == [1.0, -2.0, 4.0]


@pytest.mark.parametrize(("change", "error", "text"), [
    (lambda s: s.incoming.__setitem__(0, torch.ones(2)), ValueError, r"of shape \[3\] and dtype float32, but has shape \[2\]"),
    (lambda s: s.incoming.__setitem__(0, torch.ones(3).double()), ValueError, "dtype float32, but has shape .* float64"),
    (lambda s: s.incoming.__setitem__(0, 1.0), TypeError, r"step.incoming\[0\] must be a tensor or None, not float"),
    (lambda s: s.incoming.clear(), ValueError, "one gradient .or None. for each of the 1 outputs of MulBackward0, but has 0"),
    (lambda s: s.run().outgoing.pop(), ValueError, "for each of the 2 edges of MulBackward0, but has 1"),
    (lambda s: s.run().outgoing.__setitem__(0, torch.ones(5)), RuntimeError,
     r"Function MulBackward0 returned an invalid gradient at index 0 - got \[5\] but expected shape compatible with \[3\]"),
])
def test_wrong_replacement_is_refused(change: Any, error: Any, text: str) -> None:
    x, w = leaves()
    steps = debug.step((x * w).sum())
    change(steps.continue_("MulBackward0"))
    with pytest.raises(error, match=text):
        next(steps)


# ---- leaving early
def test_abandoned_pass_leaves_unreached_leaves_alone() -> None:
    x, w = leaves()
    loss = (x * 2).sum() + (w * 3).exp().sum()
    steps = debug.step(loss)
    while x.grad is None and w.grad is None:
        next(steps)
    reached, other = (x, w) if x.grad is not None else (w, x)
    steps.close()
    assert other.grad is None and list(steps) == []
    del steps
    assert reached.grad is not None


def test_nodes_that_did_not_run_can_still_run() -> None:
    x, w = leaves()
    y = (x * w).tanh()
    with debug.step(y.exp().sum()) as steps:
        assert steps.continue_("TanhBackward0") is not None
    assert x.grad is None
    y.sum().backward()
    assert x.grad is not None


def test_step_of_a_pass_that_went_on_cannot_run() -> None:
    x, w = leaves()
    steps = debug.step(chain(x, w))
    first = next(steps)
    steps.close()
    with pytest.raises(RuntimeError, match="0: SumBackward0> belongs to a pass that has gone on, or was closed"):
        first.run()


def test_running_a_step_twice_is_once() -> None:
    x, _ = leaves()
    for s in debug.step(x.exp().sum(), retain_graph=False):
        assert s.run() is s.run() and s.ran
    assert x.grad.tolist() == x.exp().tolist()


def test_error_in_a_node_closes_the_pass() -> None:
    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            raise ZeroDivisionError("on purpose")

    x, _ = leaves()
    steps = debug.step(Broken.apply(x).sum())
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        list(steps)
    assert list(steps) == [] and x.grad is None and tls.task is None


def test_nothing_is_kept_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        x, w = leaves()
        loss = diamond(x, w)
        gone = [weakref.ref(loss.grad_fn), weakref.ref(w)]
        steps = debug.step(loss)
        now = steps.continue_("ExpBackward0")
        assert now is not None
        now.run()
        gone.append(weakref.ref(now.outgoing[0]))
        del x, w, loss, steps, now
        assert [ref() for ref in gone] == [None] * 3
    finally:
        gc.enable()


# ---- breakpoints
def test_breakpoints_by_name() -> None:
    x, w = leaves()
    steps = debug.step(chain(x, w), breakpoints=["TanhBackward0"])
    first = steps.continue_(until="Exp")
    assert first is not None and first.name == "ExpBackward0" and not first.ran
    second = steps.continue_()
    assert second is not None and second.name == "TanhBackward0" and steps.current is second
    third = steps.continue_(until="torch::autograd::AccumulateGrad")
    assert third is not None and third.leaf is not None
    assert steps.continue_() is None and steps.continue_() is None
    assert x.grad is not None and w.grad is not None


def test_breakpoints_by_line() -> None:
    x, w = leaves()
    with trace_origins():
        a = x * w
        b = a.exp()  # here
        loss = b.sum()
    line = sys._getframe().f_lineno - 2
    for place in (line, f"test_debug.py:{line}", f"{__file__}:{line}", f"autograd/test_debug.py:{line}"):
        found = debug.step(loss, retain_graph=True).continue_(until=place)
        assert found is not None and found.name == "ExpBackward0" and found.origin.text == "b = a.exp()  # here"
    assert debug.step(loss, retain_graph=True).continue_(until=f"est_debug.py:{line}") is None
    assert str(next(debug.step(loss))).endswith(f"test_debug.py:{line + 1}: loss = b.sum()")


def test_accumulator_has_the_line_that_made_its_leaf() -> None:
    with trace_origins():
        leaf = torch.ones(2, requires_grad=True)
        loss = leaf.sum()
    found = debug.step(loss).continue_(until="AccumulateGrad")
    assert found is not None and found.origin.text == "leaf = torch.ones(2, requires_grad=True)"


def test_line_of_an_untraced_graph_is_an_error() -> None:
    x, w = leaves()
    with pytest.raises(ValueError, match="no line of this graph is known, so 'train.py:12' is never reached: record it under "):
        debug.step(chain(x, w)).continue_(until="train.py:12")


def test_breakpoints_by_node_tensor_and_function() -> None:
    x, w = leaves()
    a = x * w
    loss = a.exp().sum()
    for place in (a, a.grad_fn, lambda s: s.index == 2, {"Mul"}):
        found = debug.step(loss, retain_graph=True).continue_(until=place)
        assert found is not None and found.node is a.grad_fn
    found = debug.step(loss).continue_(until=w)
    assert found is not None and found.leaf is w
    with pytest.raises(TypeError, match="a breakpoint is the name of a node, a line, .* not None"):
        debug.step(chain(x, w), breakpoints=None)


def test_first_nan_is_found_and_can_be_mended() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    steps = debug.step((x.sqrt() * 0).sum())
    found = steps.continue_(until="nonfinite")
    assert found is not None and found.name == "SqrtBackward0" and found.ran and np.isnan(found.outgoing[0].numpy()[0])
    found.outgoing[0] = torch.zeros(2)
    assert steps.continue_(until="nonfinite") is None and x.grad.tolist() == [0.0, 0.0]


def test_inf_from_outside_is_found_where_it_arrives() -> None:
    x = torch.ones(1, requires_grad=True)
    found = debug.step(x * 2, torch.full((1,), float("inf"))).continue_(until="nonfinite")
    assert found is not None and found.index == 0 and not found.ran
    big = torch.full((1,), 3e38)
    found = debug.step((x * big) + (x * big)).continue_(until="nonfinite")
    assert found is not None and found.leaf is x
    assert debug.is_nonfinite(torch.full((1,), float("nan"), dtype=torch.bfloat16))


def test_steps_tell_what_they_are() -> None:
    x, w = leaves()
    steps = debug.step((x * w).sum())
    assert repr(steps) == "<backward pass, at None>"
    first = next(steps)
    assert repr(first) == "<step 0: SumBackward0>" and str(first) == "0: SumBackward0" and first.origin is None
    assert repr(first.run()) == "<step 0: SumBackward0, done>"
    steps.finish()
    assert repr(steps) == "<backward pass, closed>"


def test_anomaly_mode_watches_steps_too(capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.zeros(1, requires_grad=True)
    with set_detect_anomaly(True):
        steps = debug.step(x / x)
        with pytest.raises(RuntimeError, match="Function 'DivBackward0' returned nan values in its 1th output."):
            steps.finish()
    assert "Error detected in DivBackward0" in capsys.readouterr().err


# ---- Python's own debugger, inside a backward pass
def test_pdb_works_in_hooks_and_custom_functions() -> None:
    class Looked(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            doubled = grad * 2
            debugger.set_trace()
            return doubled

    def hook(grad: Any) -> Any:
        inside = "the hook"
        debugger.set_trace()
        return grad if inside else None

    commands = "p doubled\nw\nn\nc\np inside\np grad\nc\n"
    shown = io.StringIO()
    debugger = pdb.Pdb(stdin=io.StringIO(commands), stdout=shown, nosigint=True, readrc=False)
    x, _ = leaves()
    y = x * 1
    y.register_hook(hook)
    before = sys.gettrace()
    try:
        Looked.apply(y).sum().backward()
    finally:
        sys.settrace(before)
    text = shown.getvalue()
    assert "tensor([2., 2., 2.])" in text and "'the hook'" in text
    assert "Looked.apply(y).sum().backward()" in text          # the caller is on the stack
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_traceback_leads_from_the_call_to_the_hook() -> None:
    def hook(grad: Any) -> Any:
        raise KeyError("in the hook")

    x, _ = leaves()
    y = x * 1
    y.register_hook(hook)
    with pytest.raises(KeyError) as error:
        y.sum().backward()
    frames = traceback.extract_tb(error.value.__traceback__)
    assert frames[0].name == "test_traceback_leads_from_the_call_to_the_hook" and frames[-1].name == "hook"
    assert error.value.__traceback__.tb_frame.f_locals["y"] is y
    assert tls.task is None
