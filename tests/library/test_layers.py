"""Users' ops under autograd, transforms, modes, subclasses, autocast and on other backends."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.library import Library, fallthrough_kernel, register_autocast, register_torch_dispatch, register_vmap
from retrograd.library.layers import below_autograd
from retrograd.utils._python_dispatch import TorchDispatchMode


@pytest.fixture
def lib() -> object:
    made = Library("t_layers", "FRAGMENT")
    yield made
    made._destroy()


def numpy_double(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.asarray(x.detach().numpy() * 2))


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(str(func))
        return func(*args, **(kwargs or {}))


def test_composite_op_is_taken_apart_by_all(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.sin(), "CompositeImplicitAutograd")
    f = torch.ops.t_layers.f
    x = torch.ones(3, requires_grad=True)
    assert f(x).grad_fn.name() == "SinBackward0"
    with Log() as log:
        f(x)
    assert log.seen == ["aten.sin.default"]
    assert torch.allclose(torch.func.vmap(torch.func.grad(f))(x), x.cos())
    assert torch.allclose(torch.func.jvp(f, (x,), (torch.ones(3),))[1], x.cos())


def test_mode_sees_the_op_and_not_its_inside(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    x = torch.ones(2)
    with Log() as log:
        result = torch.ops.t_layers.f(x)
    assert log.seen[0] == "t_layers.f.default"
    assert result.tolist() == [2.0, 2.0]


def test_autograd_kernel_may_call_the_op_below_itself(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            with below_autograd():
                return torch.ops.t_layers.f(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 7

    lib.impl("f", Double.apply, "Autograd")
    x = torch.ones(2, requires_grad=True)
    torch.ops.t_layers.f(x).sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_inference_mode_passes_the_autograd_kernel(lib: Library) -> None:
    def refuse(x: torch.Tensor) -> torch.Tensor:
        raise AssertionError("there is nothing to record")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    lib.impl("f", refuse, "Autograd")
    x = torch.ones(2)
    with torch.inference_mode():
        made = torch.ones(2)
        assert torch.ops.t_layers.f(x).tolist() == [2.0, 2.0]
    assert torch.ops.t_layers.f(made).tolist() == [2.0, 2.0]
    with pytest.raises(AssertionError):
        torch.ops.t_layers.f(x)


def test_fallthrough_lets_the_kernel_be_recorded(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x * 2, "CPU")
    lib.impl("f", fallthrough_kernel, "Autograd")
    x = torch.ones(2, requires_grad=True)
    assert torch.ops.t_layers.f(x).grad_fn.name() == "MulBackward0"
    with pytest.raises(NotImplementedError):
        fallthrough_kernel()


def test_vmap_runs_one_example_after_the_other_without_a_rule(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    with pytest.warns(UserWarning, match="batching rule for t_layers::f"):
        assert torch.func.vmap(torch.ops.t_layers.f)(torch.ones(3, 2)).tolist() == [[2.0, 2.0]] * 3


def test_vmap_uses_the_rule(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    seen = []

    @register_vmap("t_layers::f")
    def rule(info: Any, in_dims: Any, x: torch.Tensor) -> Any:
        seen.append((info.batch_size, in_dims))
        return torch.ops.t_layers.f(x), in_dims[0]

    assert torch.func.vmap(torch.ops.t_layers.f, in_dims=1)(torch.ones(2, 3)).shape == (3, 2)
    assert seen == [(3, (1,))]


def test_vmap_cannot_write_without_a_rule(lib: Library) -> None:
    lib.define("f(Tensor(a!) x) -> ()")
    lib.impl("f", lambda x: None, "CPU")
    with pytest.raises(RuntimeError, match="the fallback path doesn't work on out= or view ops"):
        torch.func.vmap(lambda x: (torch.ops.t_layers.f(x), x)[1])(torch.ones(3))


def test_subclass_sees_the_op(lib: Library) -> None:
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return torch.zeros(1)

    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    t = torch.Tensor._make_wrapper_subclass(Seeing, (2,))
    assert torch.ops.t_layers.f(t).item() == 0.0
    assert seen == ["t_layers.f.default"]


def test_function_override_sees_the_op(lib: Library) -> None:
    seen = []

    class Seeing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    t = torch.ones(2).as_subclass(Seeing)
    assert type(torch.ops.t_layers.f(t)) is Seeing
    assert seen[0] == "t_layers.f"


def test_rule_for_a_mode_comes_first(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    register_torch_dispatch("t_layers::f", Log, lambda mode, func, types, args, kwargs: func(*args) + 1)
    with Log() as log:
        assert torch.ops.t_layers.f(torch.ones(1)).item() == 3.0
    assert "t_layers.f.default" not in log.seen


def test_autocast_casts_inputs(lib: Library) -> None:
    lib.define("f(Tensor x, Tensor n) -> Tensor")
    lib.impl("f", lambda x, n: x * n, "CompositeImplicitAutograd")
    register_autocast("t_layers::f", "cpu", torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.ops.t_layers.f(torch.ones(1), torch.ones(1, dtype=torch.int64)).dtype is torch.bfloat16
    assert torch.ops.t_layers.f(torch.ones(1), torch.ones(1)).dtype is torch.float32


def test_missing_kernel_names_the_backend(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="Could not run 't_layers::f' with arguments from the 'CPU' backend"):
        torch.ops.t_layers.f(torch.ones(1))
    with pytest.raises(NotImplementedError, match="there was no fake impl or Meta kernel registered"):
        torch.ops.t_layers.f(torch.ones(1, device="meta"))
    with pytest.raises(NotImplementedError, match="'SparseCPU' backend"):
        torch.ops.t_layers.f(torch.eye(2).to_sparse())


def test_conjugate_bit_is_resolved_for_kernels(lib: Library) -> None:
    lib.define("f(Tensor x) -> bool")
    lib.impl("f", lambda x: x.is_conj(), "CPU")
    assert torch.ops.t_layers.f(torch.tensor([1j]).conj()) is False


def test_profiler_names_the_op(lib: Library) -> None:
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", numpy_double, "CPU")
    with torch.autograd.profiler.profile() as prof:
        torch.ops.t_layers.f(torch.ones(1))
    assert "t_layers::f" in [event.name for event in prof.function_events]


def test_write_under_grad_transform_must_be_to_its_own_tensors(lib: Library) -> None:
    lib.define("f(Tensor(a!) x) -> ()")
    lib.impl("f", lambda x: None, "CPU")
    outside = torch.ones(1)
    with pytest.raises(RuntimeError, match="mutate a captured Tensor"):
        torch.func.grad(lambda x: (torch.ops.t_layers.f(outside), x.sum())[1])(torch.ones(1))
