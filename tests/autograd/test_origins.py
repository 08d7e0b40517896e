"""Traced origins: errors name the lines that they are about, nothing is kept alive, and off is as if it did not exist."""
from __future__ import annotations

import gc
import re
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import Function, set_detect_anomaly, trace_origins
from retrograd.autograd.origins import is_tracing_origins, origin_of
from retrograd.core.state import switches, tls

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace operation: "
ROOTLESS = "element 0 of tensors does not require grad and does not have a grad_fn"
UNUSED = ("The differentiated Tensor at index 0 appears to not have been used in the graph. Set allow_unused=True if this is "
          "the desired behavior.")


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path, tls.origins
    yield
    assert (switches.any_mode, tls.slow_path, tls.origins) == before


def facts(run: Any) -> list[str]:
    """What the error of `run()` says after PyTorch's own text, one item per line, without the paths."""
    with pytest.raises(RuntimeError) as error:
        run()
    return [re.sub(r"\S*/(\w+\.py):\d+", r"\1", line.strip()) for line in str(error.value).splitlines()[1:]]


def error_text(run: Any) -> str:
    with pytest.raises(RuntimeError) as error:
        run()
    return str(error.value)


# ---- the switch
def test_scope_and_switch() -> None:
    assert not is_tracing_origins()
    with trace_origins():
        assert is_tracing_origins()
        with trace_origins(False):
            assert not is_tracing_origins()
        assert is_tracing_origins()
    switch = trace_origins()
    assert is_tracing_origins()
    trace_origins(False)
    assert not is_tracing_origins() and switch.before == 0


def test_anomaly_mode_includes_it_and_both_end_on_their_own() -> None:
    with trace_origins():
        with set_detect_anomaly(True):
            assert tls.origins == 3
        assert tls.origins == 1
    with set_detect_anomaly(True):
        with trace_origins():
            assert tls.origins == 3
        assert tls.origins == 2


def test_other_threads_are_not_traced() -> None:
    seen = []
    with trace_origins():
        thread = threading.Thread(target=lambda: seen.append(is_tracing_origins()))
        thread.start()
        thread.join()
    assert seen == [False]


# ---- a saved value that was changed
def changed_output(x: Any) -> None:
    y = x.exp()
    y.mul_(2)
    y.sum().backward()


def test_changed_value_names_both_lines() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        assert facts(lambda: changed_output(x)) == ["saved for the backward of Exp at test_origins.py: y = x.exp()",
                                                    "changed by mul_ at test_origins.py: y.mul_(2)"]
        text = error_text(lambda: changed_output(x))
    assert text.startswith(MODIFIED + "[torch.FloatTensor [3]], which is output 0 of Exp, is at version 1; expected version 0 "
                           "instead. Hint: enable anomaly detection ")
    first = changed_output.__code__.co_firstlineno
    assert f"test_origins.py:{first + 1}: y = x.exp()" in text and f"test_origins.py:{first + 2}: y.mul_(2)" in text


def test_line_numbers_are_those_of_the_frame_outside_the_library() -> None:
    with trace_origins():
        y = torch.ones(2, requires_grad=True).exp()
    origin = origin_of(y)
    assert origin is not None and origin.line == sys._getframe().f_lineno - 2
    assert origin.file == __file__ and origin.function == "test_line_numbers_are_those_of_the_frame_outside_the_library"
    assert origin.text == "y = torch.ones(2, requires_grad=True).exp()"


def test_off_says_how_to_turn_it_on() -> None:
    x = torch.ones(3, requires_grad=True)
    assert "torch.autograd.trace_origins(), on during the forward pass, makes this error name" in error_text(
        lambda: changed_output(x))
    assert error_text(lambda: torch.ones(1).backward()).startswith(ROOTLESS + ". torch.autograd.trace_origins()")
    assert error_text(lambda: torch.autograd.grad(torch.ones(1, requires_grad=True) * 2, x)).startswith(
        UNUSED + " It is a leaf that no op in the graph uses. torch.autograd.trace_origins()")


def test_anomaly_mode_names_them_too(capsys: pytest.CaptureFixture[str]) -> None:
    x = torch.ones(3, requires_grad=True)
    with set_detect_anomaly(True):
        assert len(facts(lambda: changed_output(x))) == 2
    assert "Error detected in ExpBackward0" in capsys.readouterr().err


def test_write_outside_the_scope_is_said_to_be_untraced() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.exp()
    y.mul_(2)
    assert facts(lambda: y.sum().backward())[1] == "changed where origins were not traced"
    z = x.exp()
    with trace_origins():
        z.mul_(2)
    assert facts(lambda: z.sum().backward()) == ["saved where origins were not traced",
                                                 "changed by mul_ at test_origins.py: z.mul_(2)"]


@pytest.mark.parametrize(("write", "name"), [
    (lambda y: y.__setitem__(0, 5.0), "copy_"), (lambda y: y[1:].add_(1), "add_"), (lambda y: y.detach().zero_(), "zero_"),
    (lambda y: torch.exp(torch.zeros(3), out=y.detach()), "exp"), (lambda y: torch.relu_(y), "relu_"),
    (lambda y: torch.autograd.graph.increment_version(y), "increment_version"),
    (lambda y: torch._foreach_add_([y.detach()], 1.0), "add_"), (lambda y: y.detach().resize_(2), "resize_"),
    (lambda y: torch.nn.functional.relu(y, inplace=True), "relu_"), (lambda y: y.copy_(torch.ones(3)), "copy_"),
])
def test_every_way_to_write_is_seen(write: Any, name: str) -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.exp()
        write(y)
        last = facts(lambda: y.sum().backward())[-1] if y.grad_fn.name() == "ExpBackward0" else facts(
            lambda: torch.autograd.grad(y.sum(), x))[-1]
    assert last.startswith(f"changed by {name} at test_origins.py: "), last


def test_write_under_no_grad_and_by_an_optimizer_is_seen() -> None:
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with trace_origins():
        loss = (w * w).sum()
        loss.backward(retain_graph=True)
        optimizer.step()
        told = facts(loss.backward)
    assert told[0] == "saved for the backward of Mul at test_origins.py: loss = (w * w).sum()"
    assert told[1].endswith("test_origins.py: optimizer.step()")


class Twice(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * 2 + 0 * ctx.saved_tensors[0]


def test_custom_function_is_named_with_the_line_that_called_it() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x + 0
        z = Twice.apply(y)
        y += 1
        assert facts(lambda: z.sum().backward()) == ["saved for the backward of Twice at test_origins.py: z = Twice.apply(y)",
                                                     "changed by add_ at test_origins.py: y += 1"]


def test_dirty_input_of_a_custom_function_is_a_write() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.exp()
        Double.apply(y)
        told = facts(lambda: y.sum().backward())
    assert told[-1] == "changed by Double at test_origins.py: Double.apply(y)"


def test_write_by_a_hook_during_backward_is_seen() -> None:
    def hook(grad: Any) -> None:
        y.zero_()  # it should have written to a copy

    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.exp()
        z = y * 2
        z.register_hook(hook)
        assert facts(lambda: z.sum().backward())[1] == (
            "changed by zero_ at test_origins.py: y.zero_()  # it should have written to a copy")


def test_only_writes_after_the_save_are_named_and_few_are_kept() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x + 0
        y.add_(1)
        z = y * y
        for _ in range(10):
            y.sub_(1)
        told = facts(lambda: z.sum().backward())
    assert len(told) == 5 and all([line == "changed by sub_ at test_origins.py: y.sub_(1)" for line in told[1:]])


def test_write_through_a_view_names_the_inner_op() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        base = x + 0
        part = base[1:]
        part.exp_()
        part.mul_(2)
        told = facts(lambda: base.sum().backward())
    assert told == ["saved for the backward of Exp at test_origins.py: part.exp_()",
                    "changed by mul_ at test_origins.py: part.mul_(2)"]
    assert base.grad_fn.name() == "torch::autograd::CopySlices" and origin_of(base) is not None


# ---- an output without a history
def test_detached_output() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.detach()
        z = y * 2
        loss = z.sum()
        assert facts(lambda: loss.backward()) == ["`loss` has shape [] and was made by sum at test_origins.py: loss = z.sum()",
                                        "detached by detach at test_origins.py: y = x.detach()"]


@pytest.mark.parametrize(("make", "why"), [
    (lambda x: x.data * 2, "taken through .data at test_origins.py: "),
    (lambda x: x.argmax() * 1.0, "computed by argmax, which has no derivative, at test_origins.py: "),
    (lambda x: (x > 0).float(), "computed by gt, which has no derivative, at test_origins.py: "),
    (lambda x: torch.no_grad()(lambda: x.exp())() + 1, "computed by exp under no_grad at test_origins.py: "),
    (lambda x: torch.inference_mode()(lambda: x.exp())(), "computed by exp in inference mode at test_origins.py: "),
    (lambda x: torch.tensor([1.0]) * 2, "made by tensor with requires_grad=False at test_origins.py: "),
    (lambda x: torch.from_numpy(np.ones(2)), "made by from_numpy with requires_grad=False at test_origins.py: "),
    (lambda x: torch.zeros(2) + torch.as_tensor(np.ones(2)), "made by zeros with requires_grad=False at test_origins.py: "),
    (lambda x: (x + 1).detach_(), "detached by detach_ at test_origins.py: "),
    (lambda x: x.clone().detach().requires_grad_().requires_grad_(False), "set to requires_grad=False at test_origins.py: "),
    (lambda x: torch.zeros(3).copy_(x.detach()), "detached by detach at test_origins.py: "),
    (lambda x: torch.stack([torch.ones(3), x.detach()]), "detached by detach at test_origins.py: "),
])
def test_cause_of_an_output_without_history(make: Any, why: str) -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        out = make(x)
        told = facts(lambda: torch.autograd.backward(out, torch.ones_like(out)))
    assert told[1].startswith(why), told


def test_non_differentiable_output_of_a_custom_function() -> None:
    class Pair(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            number = x.sum()
            ctx.mark_non_differentiable(number)
            return x * 2, number

        @staticmethod
        def backward(ctx: Any, grad: Any, other: Any) -> Any:
            return grad * 2

    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        _, number = Pair.apply(x)
        assert facts(number.backward)[1] == (
            "computed by Pair, which has no derivative, at test_origins.py: _, number = Pair.apply(x)")


def test_causes_stay_few_in_a_long_loop() -> None:
    with trace_origins():
        mean = torch.zeros(1)
        for _ in range(50):
            mean = mean * 0.9 + torch.ones(1) * 0.1
        told = facts(mean.backward)
    assert len(told) == 3


def test_output_at_another_index_is_told() -> None:
    x = torch.ones(1, requires_grad=True)
    with trace_origins():
        good, bad = x * 2, x.detach()
        text = error_text(lambda: torch.autograd.backward([good, bad]))
    assert text.startswith("element 1 of tensors does not require grad and does not have a grad_fn\n  `bad` has shape [1] ")


# ---- an input that no gradient reaches
def test_leaf_that_was_only_used_detached() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        w = torch.ones(2, requires_grad=True)
        scale = w.detach().sum()
        loss = (x * scale).sum()
        with torch.no_grad():
            w.exp()
        text = error_text(lambda: torch.autograd.grad(loss, w))
        told = facts(lambda: torch.autograd.grad(loss, w))
    assert text.startswith(UNUSED + "\n")
    assert told == [
        "`w` has shape [2] and was made by ones at test_origins.py: w = torch.ones(2, requires_grad=True)",
        "it is a leaf that no op in the graph uses",
        "used where no gradient comes back: detached by detach at test_origins.py: scale = w.detach().sum()",
        "used where no gradient comes back: computed by exp under no_grad at test_origins.py: w.exp()"]


def test_parameter_that_the_loss_does_not_use() -> None:
    with trace_origins():
        layer = torch.nn.Linear(2, 2)
        told = facts(lambda: torch.autograd.grad(layer.weight.sum(), layer.bias))
    assert told == ["it has shape [2] and was made by Parameter at test_origins.py: layer = torch.nn.Linear(2, 2)",
                    "it is a leaf that no op in the graph uses"]


def test_input_that_was_changed_after_its_use() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x * 1
        out = (y * 2).sum()
        y.add_(1)
        assert facts(lambda: torch.autograd.grad(out, y))[1:] == [
            "no path from the outputs leads to it",
            "changed by add_ at test_origins.py: y.add_(1) (what was computed before has its old value)"]


def test_view_of_what_the_graph_uses() -> None:
    x = torch.ones(3, requires_grad=True)
    assert " It is a view of a tensor that the graph uses: ask for the gradient of that tensor" in error_text(
        lambda: torch.autograd.grad(x.sum(), x[0]))


def test_function_that_returned_none() -> None:
    class Silent(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None

    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x * 1
        z = Silent.apply(y)
        assert facts(lambda: torch.autograd.grad(z.sum(), y))[1:] == [
            "it is in the graph, but no gradient came from there",
            "None was returned by SilentBackward, recorded at test_origins.py: z = Silent.apply(y)"]
    assert "None was returned by SilentBackward." in error_text(
        lambda: torch.autograd.grad(Silent.apply(x).sum(), x))


def test_edge_that_the_graph_does_not_lead_to() -> None:
    x = torch.ones(3, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(x * 2)
    assert " No path from the outputs leads to the node MulBackward0." in error_text(
        lambda: torch.autograd.grad(x.sum(), edge))


def test_input_without_grad_is_explained() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.detach()
        assert facts(lambda: torch.autograd.grad(x.sum(), y))[1] == "detached by detach at test_origins.py: y = x.detach()"
        assert facts(lambda: x.sum().backward(inputs=[y]))[1] == "detached by detach at test_origins.py: y = x.detach()"


# ---- second derivatives
def test_node_of_a_second_derivative_knows_the_first_line() -> None:
    x = torch.ones(3, requires_grad=True)
    with trace_origins():
        y = x.exp()
        grad, = torch.autograd.grad(y.sum(), x, create_graph=True)
    origin = origin_of(grad)
    assert origin is not None and origin.text.startswith("grad, = torch.autograd.grad(")
    assert origin.parent is not None and origin.parent.text == "y = x.exp()"
    assert re.search(r", while running the backward of Exp at \S+: y = x.exp\(\)$", str(origin))


# ---- nothing is kept alive, nothing is different
def test_nothing_is_kept_alive() -> None:
    gc.collect()
    gc.disable()
    try:
        with trace_origins():
            x = torch.ones(3, requires_grad=True)
            y = x.exp()
            z = y.detach() * 2
            y.mul_(2)
            gone = [weakref.ref(t) for t in (x, y, z, y.grad_fn)]
            del x, y, z
        assert [ref() for ref in gone] == [None] * 4
    finally:
        gc.enable()


def test_origins_hold_texts_and_numbers_only() -> None:
    with trace_origins():
        x = torch.ones(3, requires_grad=True)
        y = x.exp()
    origin = origin_of(y)
    assert [type(getattr(origin, name)) for name in ("op", "file", "line", "function", "parent")] == [
        str, str, int, str, type(None)]


def test_untraced_tensors_have_no_trail() -> None:
    x = torch.ones(3, requires_grad=True)
    y = x.detach() * 2
    assert x._extra is None and y._extra is None and (x * 2).grad_fn._metadata_ is None
    assert origin_of(x) is None and origin_of(x * 2) is None


def test_values_and_gradients_are_the_same() -> None:
    def run() -> Any:
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            net(torch.randn(5, 4)).square().mean().backward()
            optimizer.step()
        return [p.detach().numpy().copy() for p in net.parameters()]

    plain = run()
    with trace_origins():
        traced = run()
    assert all([np.array_equal(a, b) for a, b in zip(plain, traced, strict=True)])


def test_transforms_work_while_tracing() -> None:
    with trace_origins():
        x = torch.arange(3.0)
        assert torch.vmap(torch.func.grad(lambda v: v.sin() * v.detach()))(x).shape == (3,)
        assert torch.func.jvp(torch.sin, (x,), (torch.ones(3),))[1].shape == (3,)
