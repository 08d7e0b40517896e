"""The autograd fallback: when gradients meet an op without an autograd kernel."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd as torch
from retrograd.library import Library
from retrograd.library.fallback import autograd_fallback_mode, get_autograd_fallback_mode, set_autograd_fallback_mode

TEXT = "an autograd kernel was not registered to the Autograd key"


@pytest.fixture
def lib() -> object:
    made = Library("t_fall", "FRAGMENT")
    yield made
    made._destroy()


def numpy_double(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x.detach().numpy() * 2))


def test_output_gets_a_node_that_warns_and_passes_nothing(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.t_fall.f(x)
    assert y.grad_fn.name() == "torch::autograd::WarnNotImplemented"
    with pytest.warns(UserWarning, match=f"t_fall::f: {TEXT}"):
        y.sum().backward()
    assert x.grad is None


def test_nothing_means_that_the_kernel_decides(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    with autograd_fallback_mode("nothing"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not torch.ops.t_fall.f(x).requires_grad
        torch.ops.t_fall.g(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_recorded_output_warns_by_a_hook(lib: Library) -> None:
    lib.define("g(Tensor x) -> Tensor")
    lib.impl("g", lambda x: x * 2, "CPU")
    x = torch.ones(2, requires_grad=True)
    y = torch.ops.t_fall.g(x)
    assert y.grad_fn.name() == "MulBackward0"
    with pytest.warns(UserWarning, match=TEXT):
        y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_base_of_a_written_view_warns_too(lib: Library) -> None:
    lib.define("zero(Tensor(a!) x) -> Tensor(a!)")

    def zero(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x.zero_()
    lib.impl("zero", zero, "CPU")
    x = torch.ones(2, requires_grad=True)
    base = x.clone()
    torch.ops.t_fall.zero(base[0])
    with pytest.warns(UserWarning, match=TEXT):
        base.sum().backward()


def test_integer_output_is_left_alone(lib: Library) -> None:
    lib.define("f(Tensor x) -> (Tensor, Tensor)")
    lib.impl("f", lambda x: (numpy_double(x), torch.ones(1, dtype=torch.int64)), "CPU")
    a, b = torch.ops.t_fall.f(torch.ones(2, requires_grad=True))
    assert a.requires_grad
    assert not b.requires_grad


def test_no_grad_is_silent(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    with torch.no_grad():
        assert not torch.ops.t_fall.f(torch.ones(2, requires_grad=True)).requires_grad


def test_mode_is_set_and_restored() -> None:
    assert get_autograd_fallback_mode() == "warn"
    with autograd_fallback_mode("nothing"):
        assert get_autograd_fallback_mode() == "nothing"
    assert get_autograd_fallback_mode() == "warn"
    with pytest.raises(RuntimeError, match="NYI: mode='error'"):
        set_autograd_fallback_mode("error")
    with pytest.raises(RuntimeError, match="Unsupported AutogradFallbackMode: wat"):
        set_autograd_fallback_mode("wat")
