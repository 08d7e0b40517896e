"""Kernels of users for built-in ops, and fallbacks for all ops."""
from __future__ import annotations

import warnings

import pytest

import retrograd as torch
from retrograd._torch_dispatcher import ForceKeys, included, key_set
from retrograd.library import Library, _scoped_library, fallthrough_kernel


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Warning only once for all operators")
        yield


def test_a_cpu_kernel_takes_the_place_of_a_built_in_one_until_its_library_goes():
    x = torch.tensor([1.0, 2.0])
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("sum", lambda t, **kwargs: torch.full((), 7.0), "CPU")
        assert torch.sum(x).item() == 7.0
        assert x.sum().item() == 7.0
        assert torch.mean(x).item() == 1.5
    assert torch.sum(x).item() == 3.0


def test_autograd_records_an_op_whose_kernel_was_replaced():
    x = torch.tensor([1.0], requires_grad=True)
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", lambda t: torch.zeros_like(t), "CPU")
        y = x.sin()
        assert y.item() == 0.0
        y.backward()
    torch.testing.assert_close(x.grad, torch.tensor([1.0]).cos())


def test_a_kernel_for_autograd_sees_the_tensors_that_require_grad():
    x = torch.tensor([2.0], requires_grad=True)
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", lambda t: t * 3, "AutogradCPU")
        y = x.sin()
    y.backward()
    assert (y.item(), x.grad.item()) == (6.0, 3.0)


def test_a_fallthrough_for_autograd_leaves_nothing_recorded():
    x = torch.ones(2, requires_grad=True)
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", fallthrough_kernel, "Autograd")
        assert not x.sin().requires_grad
    assert x.sin().requires_grad


def test_a_composite_op_can_be_replaced_as_a_whole():
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl("matmul", lambda a, b: torch.zeros(1), "CompositeImplicitAutograd")
        assert torch.matmul(torch.ones(2, 2), torch.ones(2, 2)).shape == (1,)
    assert torch.matmul(torch.ones(2, 2), torch.ones(2, 2)).shape == (2, 2)


def test_an_op_object_names_what_to_replace():
    with _scoped_library("aten", "IMPL") as lib:
        lib.impl(torch.ops.aten.neg.default, lambda t: t, "CPU")
        assert torch.neg(torch.ones(1)).item() == 1.0


def test_a_kernel_can_ask_for_the_keys_of_the_call():
    seen = []
    lib = Library("replaced_keys", "DEF")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda keys, x: (seen.append(keys), x * 2)[1], "CPU", with_keyset=True)
    assert torch.ops.replaced_keys.twice(torch.ones(1)).item() == 2.0
    assert [key.name for key in seen[0]].count("CPU") == 1


def test_the_namespace_of_built_in_ops_has_its_owner():
    with pytest.raises(RuntimeError, match="Only a single TORCH_LIBRARY can be used to register the namespace aten"):
        Library("aten", "DEF")


def test_an_impl_library_declares_nothing():
    with pytest.raises(RuntimeError, match="Cannot define an operator inside of a TORCH_LIBRARY_IMPL block"):
        Library("replaced_impl", "IMPL").define("f(Tensor x) -> Tensor")


def test_a_fallback_for_a_generic_mode_sees_every_op_while_its_key_is_included():
    seen = []
    key = "TESTING_ONLY_GenericMode"
    with _scoped_library("_", "IMPL") as lib:
        def fallback(op, *args, **kwargs):
            seen.append(str(op))
            with ForceKeys(included(), key_set(key)):
                return op(*args, **kwargs)
        lib.fallback(fallback, key)
        x = torch.ones(2)
        x.sin()
        with ForceKeys(included() | key_set(key), key_set("Undefined")):
            assert x.cos().shape == (2,)
        x.sin()
    assert seen == ["aten.cos.default"]


def test_only_the_global_namespace_has_fallbacks():
    with pytest.raises(RuntimeError, match='using library fragment on the global namespace "_" but it is ns'):
        Library("ns", "FRAGMENT").fallback(lambda op, *args: None, "CPU")
