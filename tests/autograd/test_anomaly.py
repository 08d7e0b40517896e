"""Anomaly mode: what it says, how often, and that it keeps nothing alive."""
from __future__ import annotations

import sys
import warnings
import weakref
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest

import retrograd as torch
from retrograd.autograd import Function, detect_anomaly, set_detect_anomaly
from retrograd.core.state import switches, tls


@pytest.fixture(autouse=True)
def switches_are_restored() -> Iterator[None]:
    before = switches.any_mode, tls.slow_path
    yield
    assert (switches.any_mode, tls.slow_path) == before


def caught(run: Any, action: Any = "always") -> tuple[list[str], BaseException]:
    """The warnings and the error of `run()`."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(RuntimeError) as error:
            run()
    return [str(w.message) for w in seen], error.value


def test_nan_names_the_node_and_the_forward_line() -> None:
    def run() -> None:
        x = torch.zeros(2, requires_grad=True)
        with detect_anomaly():
            y = x / x  # the culprit
            y.sum().backward()

    texts, error = caught(run)
    assert str(error) == "Function 'DivBackward0' returned nan values in its 1th output."
    assert len(texts) == 2
    assert texts[0].startswith("Anomaly Detection has been enabled.")
    assert texts[1].startswith("Error detected in DivBackward0. Traceback of forward call that caused the error:")
    assert "y = x / x  # the culprit" in texts[1]
    assert "retrograd/core" not in texts[1]


def test_graph_recorded_outside_has_no_forward_information() -> None:
    def run() -> None:
        x = torch.zeros(2, requires_grad=True)
        y = x / x
        with detect_anomaly():
            y.sum().backward()

    texts, _ = caught(run)
    assert texts[1] == ("Error detected in DivBackward0. No forward pass information available. Enable detect anomaly during "
                        "forward pass for more information.")


class Outer(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return Inner.apply(grad * ctx.saved_tensors[0])


class Inner(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * float("nan")


def test_parents_are_shown_after_the_child() -> None:
    def run() -> None:
        x = torch.ones(2, requires_grad=True)
        with detect_anomaly():
            y = Outer.apply(x)
            grad, = torch.autograd.grad(y.sum(), x, create_graph=True)
            grad.sum().backward()

    texts, error = caught(run)
    assert "InnerBackward" in str(error)
    assert "Inner.apply" in texts[1]
    assert texts[2].startswith("\n\nPrevious calculation was induced by OuterBackward. ")
    assert "Outer.apply" in texts[2]


def test_any_error_is_reported_also_that_of_a_hook() -> None:
    def run() -> None:
        with set_detect_anomaly(True):
            x = torch.ones(2, requires_grad=True)
            y = x.exp()
            y.register_hook(lambda grad: torch.ones(3) + torch.ones(2))
            y.sum().backward()

    texts, _ = caught(run)
    assert len(texts) == 1
    assert texts[0].startswith("Error detected in ExpBackward0.")


def test_where_warnings_are_errors_the_text_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", StringIO())
    x = torch.zeros(2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with set_detect_anomaly(True), pytest.raises(RuntimeError, match="returned nan values"):
            (x / x).sum().backward()
    assert "Error detected in DivBackward0" in sys.stderr.getvalue()        # type: ignore[attr-defined]


def test_nan_check_can_be_off() -> None:
    x = torch.zeros(2, requires_grad=True)
    with set_detect_anomaly(True, check_nan=False):
        assert not torch.is_anomaly_check_nan_enabled()
        (x / x).sum().backward()
        with set_detect_anomaly(True), pytest.raises(RuntimeError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (x / x).sum().backward()
    assert torch.is_anomaly_check_nan_enabled()
    assert not torch.is_anomaly_enabled()


def test_metadata_dies_with_the_node() -> None:
    class Thing:
        pass

    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    with set_detect_anomaly(True):
        grad, = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert grad.grad_fn.metadata["parent_"] is y.grad_fn
    thing = Thing()
    y.grad_fn.metadata["thing"] = thing
    gone = weakref.ref(thing)
    del thing, grad
    assert gone() is not None
    del y
    assert gone() is None
