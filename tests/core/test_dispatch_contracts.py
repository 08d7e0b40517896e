"""What `__torch_function__` and `__torch_dispatch__` may rely on."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._python_dispatch import TorchDispatchMode


class Other:
    """No tensor, but part of the protocol."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "seen"


@pytest.mark.parametrize("call", [
    lambda t: t[Other()], lambda t: torch.cat([t, Other()]), lambda t: torch.nn.functional.pad(t, [1, Other()]),
    lambda t: torch.autograd.grad(Other(), Other()), lambda t: torch.autograd.backward(Other()), lambda t: t + Other(),
    lambda t: torch.einsum("i->", Other()), lambda t: torch.unique(Other()), lambda t: torch.block_diag(Other())])
def test_an_object_of_the_protocol_sees_the_call(call: Any) -> None:
    assert call(torch.ones(3)) == "seen"


def test_an_object_of_the_protocol_sees_an_assignment() -> None:
    t = torch.ones(3)
    t[0] = Other()
    assert t.tolist() == [1, 1, 1]


class Held(torch.Tensor):
    """A wrapper whose handler returns `Held.result`."""

    result: Any = None

    @staticmethod
    def __new__(cls) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, (2,))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls.result


@pytest.mark.parametrize("result", ["a", 3, [1]])
def test_a_handler_returns_a_tensor_where_the_op_does(result: Any) -> None:
    Held.result = result
    with pytest.raises(RuntimeError, match="Unable to cast .* to Tensor"):
        Held().sin()


def test_the_default_handler_ends_dispatch() -> None:
    seen = []

    class Passing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs or {})

    made = torch.Tensor._make_subclass(Passing, torch.ones(2)) + 1
    assert type(made) is torch.Tensor and made.tolist() == [2, 2] and seen == ["aten.add.Tensor"]


def test_a_mode_that_declines_leaves_the_op_to_the_subclass() -> None:
    class Declining(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    x, held = torch.ones(2), Held()
    Held.result = x
    with Declining():
        made = held.sin()
        with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
            x + 1
    assert made is x
