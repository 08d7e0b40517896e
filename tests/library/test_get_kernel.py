"""get_kernel: the kernel of an operator at a dispatch key, which later kernels can call."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.core.dispatch_keys import DispatchKey, DispatchKeySet

CPU = DispatchKeySet(DispatchKey.CPU)


def test_kernel_of_a_built_in_op_runs_without_its_replacement():
    sin = torch.library.get_kernel("aten::sin", "CPU")

    def positive(keys, x):
        return sin.call_boxed(keys, x) if bool((x < 0).any()) else torch.zeros_like(x)

    with torch.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", positive, "CPU", with_keyset=True, allow_override=True)
        assert torch.sin(torch.tensor([1.0])).tolist() == [0]
        x = torch.tensor([-1.0])
        assert torch.sin(x).tolist() == sin.call_boxed(CPU, x).tolist() != [0]
    assert torch.library.get_kernel(torch.ops.aten.add.Tensor, DispatchKey.CPU).call_boxed(CPU, x, x, alpha=2).tolist() == [-3]


def test_kernel_of_an_op_of_a_user():
    with torch.library._scoped_library("kernels_found", "DEF") as lib:
        assert lib.define("kernels_found::twice(Tensor x) -> Tensor") == "kernels_found::twice"
        assert lib.define("thrice(Tensor x) -> Tensor") == "thrice"
        lib.impl("twice", lambda x: x * 2, "CPU")
        found = torch.library.get_kernel("kernels_found::twice", "CPU")
        assert found.call_boxed(CPU, torch.ones(1)).tolist() == [2]


def test_get_kernel_refuses_what_has_no_kernel():
    with pytest.raises(RuntimeError, match="operator aten::nope does not exist"):
        torch.library.get_kernel("aten::nope", "CPU")
    with pytest.raises(ValueError, match="Invalid dispatch key: Foo"):
        torch.library.get_kernel("aten::sin", "Foo")
    with pytest.raises(ValueError, match="got unexpected type for op"):
        torch.library.get_kernel(torch.sin, "CPU")
    with pytest.raises(RuntimeError, match="Alias keys do not have runtime kernel registrations"):
        torch.library.get_kernel("aten::sin", "CompositeImplicitAutograd")
