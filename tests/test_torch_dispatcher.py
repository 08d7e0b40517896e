"""PyTorch's private view of its dispatcher."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import _torch_dispatcher as dispatcher
from retrograd.core.dispatch_keys import DispatchKey
from retrograd.core.modes import no_dispatch
from retrograd.utils._python_dispatch import TorchDispatchMode


def test_ops_and_their_kernels_are_found_by_name():
    assert dispatcher.has_kernel("aten::add.Tensor") and not dispatcher.has_kernel("aten::nope")
    assert dispatcher.has_kernel_for_key("aten::add.Tensor", "CPU")
    assert dispatcher.has_kernel_for_key("aten::matmul", DispatchKey["CompositeImplicitAutograd"])
    assert not dispatcher.has_kernel_for_key("aten::add.Tensor", "CUDA")
    assert "aten::add.Tensor" in dispatcher.names_of_ops()
    assert str(dispatcher.schema_of("aten::neg", "")) == "aten::neg(Tensor self) -> Tensor"


def test_an_unknown_key_is_refused():
    with pytest.raises(RuntimeError, match="could not parse dispatch key: bla"):
        dispatcher.key_of("bla")
    assert dispatcher.parse_key("bla") is None


def test_keys_after_another_are_those_that_a_call_still_meets():
    after = dispatcher.keys_after(DispatchKey["AutogradFunctionality"])
    assert after.has(DispatchKey["CPU"]) and not after.has(DispatchKey["AutogradCPU"])


def test_leaving_out_autograd_leaves_nothing_recorded():
    x = torch.ones(2, requires_grad=True)
    with dispatcher.ExcludeKeys(dispatcher.key_set("AutogradCPU")):
        assert not x.sin().requires_grad
        assert dispatcher.is_excluded("AutogradCPU")
    assert x.sin().requires_grad
    assert not dispatcher.is_excluded("AutogradCPU")


def test_a_guard_lasts_as_long_as_its_object():
    seen = []

    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))
    x = torch.ones(2)
    with Log():
        guard = no_dispatch()
        x.sin()
        del guard
        x.cos()
    assert seen == ["aten.cos.default"]


def test_function_calls_can_be_shown_again_inside_a_scope_that_hides_them():
    with torch.overrides.DisableTorchFunctionSubclass():
        assert not dispatcher.is_function_enabled()
        with dispatcher.EnableTorchFunction():
            assert dispatcher.is_function_enabled()
