"""`functionalize`: the ops that the level below sees, and that values and derivatives are as they were."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.tensor import new_tensor
from retrograd.func import functionalize, grad, jvp, vmap
from retrograd.utils._python_dispatch import TorchDispatchMode


class Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func).removeprefix("aten."))
        return func(*args, **(kwargs or {}))


def stream(function: Any, *args: Any, remove: str = "mutations") -> str:
    with Seen() as seen:
        functionalize(function, remove=remove)(*args)
    return " ".join([name.removesuffix(".default") for name in seen.names])


def select_and_write(x: Any) -> Any:
    y = x.clone()
    y.add_(1)
    y[0].mul_(2)
    return y


def write_input_through_views(x: Any) -> Any:
    x.view(-1)[1:].mul_(2)
    return x


def write_transposed(x: Any) -> Any:
    y = x.t()
    y.add_(1)
    return x, y


def write_everywhere(x: Any) -> Any:
    y = x.clone()
    y.diagonal().fill_(7)
    y.unsqueeze(0).squeeze(0).transpose(0, 1).zero_()
    y.expand(1, 2, 2)[0].add_(2)
    return y


def write_parts(x: Any) -> Any:
    y = x.clone()
    a, b = y.unbind(0)
    a.add_(b)
    _, d = y.split(1)
    d.mul_(3)
    return y


def write_permuted(x: Any) -> Any:
    y = x.clone()
    y.reshape(4).add_(1)
    y.permute(1, 0).mul_(2)
    return y


def change_geometry(x: Any) -> Any:
    y = x.clone()
    y.unsqueeze_(0)
    y.transpose_(0, 1)
    y.add_(1)
    return y


def write_strided(x: Any) -> Any:
    y = x.clone()
    y.as_strided((2,), (1,)).mul_(2)
    return y


def write_out(x: Any) -> Any:
    y = torch.empty_like(x)
    torch.add(x, x, out=y)
    return y


def write_fresh(x: Any) -> Any:
    y = torch.zeros(2, 2, dtype=x.dtype)
    y.copy_(x)
    y.relu_()
    return y.detach()


# what PyTorch shows to a dispatch mode
STREAMS = {
    select_and_write: "clone add.Tensor select.int select.int mul.Tensor select_scatter select.int",
    write_input_through_views: "view slice.Tensor mul.Tensor view slice_scatter view view slice.Tensor copy_",
    write_transposed: "t add.Tensor t t copy_",
    write_everywhere: "clone diagonal fill.Scalar diagonal_scatter diagonal unsqueeze squeeze.dim transpose.int unsqueeze "
                      "squeeze.dim transpose.int zero unsqueeze squeeze.dim transpose.int unsqueeze squeeze.dim unsqueeze "
                      "squeeze.dim transpose.int expand select.int expand select.int add.Tensor expand select_scatter "
                      "sub.Tensor sum.dim_IntList view add.Tensor expand select.int",
    write_parts: "clone unbind.int add.Tensor select_scatter unbind.int split.Tensor split.Tensor mul.Tensor slice_scatter "
                 "split.Tensor",
    write_permuted: "clone view add.Tensor view view permute permute mul.Tensor permute permute",
    change_geometry: "clone unsqueeze transpose.int add.Tensor unsqueeze transpose.int squeeze.dim unsqueeze transpose.int",
    write_strided: "clone as_strided mul.Tensor as_strided_scatter as_strided",
    write_out: "empty_like add.Tensor",
    write_fresh: "zeros copy relu detach detach",
}
VIEWS = {"select", "slice", "view", "t", "diagonal", "unsqueeze", "squeeze", "transpose", "expand", "unbind", "split",
         "permute", "as_strided", "detach"}


def example() -> Any:
    return new_tensor(np.array([[0.5, -1.0], [2.0, 3.0]]))


@pytest.mark.parametrize("function", STREAMS)
def test_no_write_is_seen_below(function: Any) -> None:
    assert stream(function, example()) == STREAMS[function]


@pytest.mark.parametrize("function", STREAMS)
def test_no_view_is_seen_below_if_that_is_asked_for(function: Any) -> None:
    copied = []
    for name in STREAMS[function].split():
        stem, dot, overload = name.partition(".")
        copied.append(f"{stem}_copy{dot}{overload}" if stem in VIEWS else name)
    assert stream(function, example(), remove="mutations_and_views") == " ".join(copied)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("function", STREAMS)
def test_values_and_written_inputs_are_those_of_the_function(function: Any, remove: str) -> None:
    x, y = example(), example()
    want, got = function(x), functionalize(function, remove=remove)(y)
    for a, b in zip(want if isinstance(want, tuple) else (want,), got if isinstance(got, tuple) else (got,), strict=True):
        assert a.tolist() == b.tolist()
    assert x.tolist() == y.tolist()


@pytest.mark.parametrize("function", [select_and_write, write_everywhere, write_permuted, change_geometry])
def test_derivatives_are_those_of_the_function(function: Any) -> None:
    x, weight = example(), new_tensor(np.array([[1.0, 2.0], [3.0, 4.0]]))

    def loss(f: Any) -> Any:
        return lambda x: (f(x * x).reshape(2, 2) * weight).sum()
    want = grad(loss(function))(x).tolist()
    assert grad(loss(functionalize(function)))(x).tolist() == want
    assert functionalize(grad(loss(function)))(x).tolist() == want
    want = jvp(loss(function), (x,), (weight,))[1].item()
    assert jvp(loss(functionalize(function)), (x,), (weight,))[1].item() == want
    assert vmap(functionalize(loss(function)))(torch.stack([x, x])).tolist() == [loss(function)(x).item()] * 2


def test_autograd_records_what_is_below() -> None:
    x = example().requires_grad_()
    y = functionalize(select_and_write)(x)
    assert type(y.grad_fn).__name__ == "SelectScatterBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [[2.0, 2.0], [1.0, 1.0]]


def test_random_writes_draw_what_they_would() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        y.normal_()
        return y.bernoulli_(0.5) + x.clone().uniform_()
    torch.manual_seed(0)
    want = function(example())
    torch.manual_seed(0)
    assert functionalize(function)(example()).tolist() == want.tolist()
    assert stream(function, example()) == "clone normal_functional bernoulli.p clone uniform add.Tensor"


def test_structure_and_other_values_pass_through() -> None:
    x = torch.ones(2)
    made = functionalize(lambda x, n: (x, {"a": x * n}, n))(x, 3)
    assert made[0] is x
    assert made[1]["a"].tolist() == [3.0, 3.0]
    assert made[2] == 3


def test_tensors_show_what_they_are() -> None:
    shown = []
    functionalize(lambda x: shown.append(repr(x)))(torch.ones(2))
    assert shown == ["FunctionalTensor(lvl=1, value=\\\ntensor([1., 1.]))"]


def test_numbers_can_be_taken_out() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        part = y[0]
        y.add_(1.0)
        return x * part.item() if part > 1.5 else x
    assert functionalize(function)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_wrong_calls_say_what_is_wrong() -> None:
    with pytest.raises(RuntimeError, match="received invalid argument for remove=views. Valid options are:"):
        functionalize(torch.sin, remove="views")
    captured = torch.zeros(2)
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor is not allowed"):
        functionalize(lambda x: captured.add_(x))(torch.ones(2))
    with pytest.raises(RuntimeError, match="While executing unfold, functionalization encountered a tensor being mutated"):
        functionalize(lambda x: x.clone().unfold(0, 2, 1).add_(1))(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"output with shape \[1\] doesn't match the broadcast shape \[2\]"):
        functionalize(lambda x: x.clone().add_(torch.ones(2)))(torch.ones(1))
    with pytest.raises(RuntimeError, match=r"Promotion of int.add/sub_\(float\) in in-place ops are not possible"):
        functionalize(lambda x: x.clone().add_(1.5))(torch.ones(1, dtype=torch.int64))
    with pytest.raises(RuntimeError, match=r"Attempting to cast from torch.float32 to out tensor with dtype torch.int64"):
        functionalize(lambda x: x.clone().sqrt_())(torch.ones(1, dtype=torch.int64))


def test_a_product_in_place_keeps_the_dtype_of_its_tensor() -> None:
    made = functionalize(lambda x: x.clone().mul_(2))(torch.tensor([True, False]))
    assert made.tolist() == [True, False] and made.dtype is torch.bool


def test_an_input_whose_view_changed_in_place_keeps_its_memory() -> None:
    x, y = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)
    functionalize(lambda t: t.t_().mul_(2))(x)
    y.t_().mul_(2)
    assert x.stride() == y.stride() == (1, 3)
    assert torch.equal(x, y)
