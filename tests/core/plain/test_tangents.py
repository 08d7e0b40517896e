"""Functions and operators of dual tensors give the values and tangents that the general way of forward mode gives."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.core import forward
from retrograd.core.dispatch import autograd
from retrograd.core.opdef import find_packet

UNARY = {name: getattr(torch, name) for name in (
    "sin", "cos", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "neg", "abs", "sum", "reciprocal", "rsqrt", "erf", "log1p")}
BINARY = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
          "maximum": torch.maximum, "mm": torch.mm, "atan2": torch.atan2}
SHAPES = [(), (4,), (3, 3), (0,), (1, 1)]


@pytest.fixture(autouse=True)
def level() -> Iterator[None]:
    with forward_ad.dual_level():
        yield


def tensor(shape: Any, seed: int, dtype: Any = torch.float64) -> Any:
    return torch.from_numpy(np.array(np.random.default_rng(seed).uniform(0.5, 2.0, shape))).to(dtype)


def dual(shape: Any, seed: int, dtype: Any = torch.float64) -> Any:
    return forward_ad.make_dual(tensor(shape, seed, dtype), tensor(shape, seed + 100, dtype))


def op_named(name: str) -> Any:
    packet = find_packet(name)
    assert packet is not None
    op = packet.overloads_[0] if name != "sum" else packet.default
    if not op._ready:
        op.prepare()
    return op


def assert_alike(made: Any, wanted: Any) -> None:
    got, expected = forward_ad.unpack_dual(made), forward_ad.unpack_dual(wanted)
    for a, b in zip(got, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            assert (a.dtype, a.shape, a.stride(), type(a.array)) == (b.dtype, b.shape, b.stride(), np.ndarray)
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def general(name: str, *tensors: Any) -> Any:
    op = op_named(name)
    return forward.run(op, [*tensors, *op.tail], autograd)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("name", "dtype"), [
    *[(name, dtype) for name in UNARY for dtype in (torch.float32, torch.float64)],
    *[(name, torch.complex128) for name in UNARY if name not in ("relu", "abs", "erf")],
    *[(name, torch.float16) for name in UNARY if name != "erf"]])
def test_functions_of_one_tensor(name: str, shape: Any, dtype: Any) -> None:
    x = dual(shape, 1, dtype)
    assert_alike(UNARY[name](x), general(name, x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("which", ["both", "first", "second"])
@pytest.mark.parametrize(("name", "shape"), [("mm", (3, 3)), *[(name, shape) for name in BINARY if name != "mm"
                                                               for shape in SHAPES]])
def test_functions_of_two_tensors(name: str, shape: Any, which: str, dtype: Any) -> None:
    a = tensor(shape, 1, dtype) if which == "second" else dual(shape, 1, dtype)
    b = tensor(shape, 2, dtype) if which == "first" else dual(shape, 2, dtype)
    assert_alike(BINARY[name](a, b), general(name, a, b))


def test_shapes_that_differ_and_orders_other_than_rows() -> None:
    a, b = dual((3, 4), 1), dual((4,), 2)
    assert_alike(a * b, general("mul", a, b))
    columns = forward_ad.make_dual(tensor((3, 3), 1).t(), tensor((3, 3), 2).t())
    assert_alike(columns.sin(), general("sin", columns))
    assert_alike(columns * columns, general("mul", columns, columns))
    assert_alike(dual((2, 3), 1) @ dual((3, 4), 2), general("mm", dual((2, 3), 1), dual((3, 4), 2)))


def test_numbers_and_other_dtypes() -> None:
    a = dual((3,), 1, torch.float32)
    assert forward_ad.unpack_dual(a * 2.0).tangent.tolist() == (forward_ad.unpack_dual(a).tangent * 2.0).tolist()
    mixed = a * dual((3,), 2, torch.float64)
    assert (mixed.dtype, forward_ad.unpack_dual(mixed).tangent.dtype) == (torch.float64, torch.float64)


def test_tangents_have_histories_where_something_requires_grad() -> None:
    primal = tensor((3,), 1).requires_grad_()
    x = forward_ad.make_dual(primal, tensor((3,), 2))
    made = forward_ad.unpack_dual(x.sin())
    assert made.primal.requires_grad and made.tangent.requires_grad
    y = forward_ad.make_dual(tensor((3,), 1), tensor((3,), 2).requires_grad_())
    assert forward_ad.unpack_dual(y * y).tangent.requires_grad


def test_switched_off_there_are_no_tangents() -> None:
    x = dual((3,), 1)
    with forward_ad._set_fwd_grad_enabled(False):
        made = x.sin()
    assert forward_ad.unpack_dual(made).tangent is None


def test_results_lose_their_tangents_with_the_level() -> None:
    made = dual((3,), 1).sin()
    forward_ad.exit_dual_level()
    forward_ad.enter_dual_level()
    assert forward_ad.unpack_dual(made).tangent is None
