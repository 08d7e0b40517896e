"""`jet`: its convention, how it composes, and what it refuses; test_series.py has the ops."""
from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import nn
from retrograd.func import grad, jet, jvp, vmap

DOUBLE = torch.float64


def number(value: float) -> Any:
    return torch.tensor(value, dtype=DOUBLE)


def test_series_are_derivatives_of_the_path() -> None:
    # x(t) = 1 + 2t + 3t^2, so x' = 2 and x'' = 6; x^2 = 1 + 4t + 10t^2 + ...
    value, derivatives = jet(lambda x: x * x, (number(1.0),), ([number(2.0), number(6.0)],))
    assert value.item() == 1.0
    assert [d.item() for d in derivatives] == [4.0, 20.0]


@pytest.mark.parametrize("function", [
    torch.exp, torch.sin, torch.cos, torch.tan, torch.tanh, torch.sigmoid, torch.sqrt, torch.log, torch.log1p, torch.expm1,
    torch.exp2, torch.reciprocal, torch.sinh, torch.cosh, torch.erf, torch.rsqrt, torch.atan, torch.lgamma,
    nn.functional.gelu, nn.functional.silu, lambda x: x ** 2.5, lambda x: x ** -3, lambda x: x.softmax(0), lambda x: x.norm(),
], ids=lambda f: getattr(f, "__name__", "lambda"))
def test_sixth_order_agrees_with_the_recurrence_of_derivatives(function: Any) -> None:
    x = torch.tensor([0.3, 0.8], dtype=DOUBLE)
    direction = torch.tensor([1.0, -0.5], dtype=DOUBLE)

    def along(t: Any) -> Any:
        return function(x + t * direction)
    zero, one = number(0.0), number(1.0)
    _, derivatives = jet(function, (x,), ([direction] + [None] * 5,))
    for order, got in enumerate(derivatives[:4], 1):
        inner = along
        for _ in range(order):
            def inner(t: Any, below: Any = inner) -> Any:
                return jvp(below, (t,), (one,))[1]
        np.testing.assert_allclose(got.numpy(), inner(zero).numpy(), rtol=1e-8, atol=1e-9)
    # beyond, the Taylor series itself is the judge
    step = 0.02
    taylor = function(x) + sum([d * (step ** k / math.factorial(k)) for k, d in enumerate(derivatives, 1)])
    np.testing.assert_allclose(taylor.numpy(), along(number(step)).numpy(), rtol=1e-6, atol=1e-8)


def test_common_functions_cost_a_polynomial_in_the_order() -> None:
    value, derivatives = jet(lambda x: torch.exp(torch.sin(x) * torch.tanh(x)), (number(0.5),), ([number(1.0)] + [None] * 29,))
    assert len(derivatives) == 30
    assert all([math.isfinite(d.item()) for d in derivatives])


def test_writes_and_views_inside_are_followed() -> None:
    def function(x: Any) -> Any:
        y = x.clone()
        y[0].mul_(y[1])
        y.view(-1)[1:].add_(x[1] ** 2)
        return y

    def pure(x: Any) -> Any:
        return torch.stack([x[0] * x[1], x[1] + x[1] ** 2])
    x, series = torch.tensor([2.0, 3.0], dtype=DOUBLE), [torch.tensor([1.0, 1.0], dtype=DOUBLE), None, None]
    got, want = jet(function, (x,), (series,)), jet(pure, (x,), (series,))
    assert got[0].tolist() == want[0].tolist()
    assert [d.tolist() for d in got[1]] == [d.tolist() for d in want[1]]
    assert x.tolist() == [2.0, 3.0]


def test_an_input_that_is_written_is_updated() -> None:
    x = torch.tensor([2.0], dtype=DOUBLE)
    _, derivatives = jet(lambda x: x.mul_(x), (x,), ([torch.ones(1, dtype=DOUBLE), None],))
    assert [d.item() for d in derivatives] == [4.0, 2.0]
    assert x.item() == 4.0


def test_output_that_depends_on_nothing_has_zeros() -> None:
    _, derivatives = jet(lambda x: torch.ones(2), (number(1.0),), ([number(1.0), None],))
    assert [d.tolist() for d in derivatives] == [[0.0, 0.0], [0.0, 0.0]]


def test_structure_of_outputs_is_kept() -> None:
    values, derivatives = jet(lambda x: {"a": x, "b": (x * x,)}, (number(3.0),), ([number(1.0), None],))
    assert values["b"][0].item() == 9.0
    assert [d.item() for d in derivatives["b"][0]] == [6.0, 2.0]


def test_shorter_lists_are_filled_with_zeros() -> None:
    _, derivatives = jet(lambda x, y: x * y, (number(2.0), number(3.0)), ([number(1.0)], [number(1.0), number(4.0)]))
    assert [d.item() for d in derivatives] == [5.0, 10.0]


def test_jet_composes_with_vmap_and_grad() -> None:
    def second(x: Any) -> Any:
        return jet(torch.sin, (x,), ([torch.ones_like(x), None],))[1][1]
    x = torch.tensor([0.1, 0.7, 1.3], dtype=DOUBLE)
    np.testing.assert_allclose(vmap(second)(x).numpy(), -np.sin(x.numpy()))
    np.testing.assert_allclose(vmap(grad(second))(x).numpy(), -np.cos(x.numpy()))
    _, derivatives = jet(grad(torch.sin), (x[0],), ([torch.ones((), dtype=DOUBLE), None],))
    np.testing.assert_allclose([d.item() for d in derivatives], [-math.sin(0.1), -math.cos(0.1)])
    _, rows = jet(vmap(torch.exp), (x,), ([torch.ones_like(x), None],))
    np.testing.assert_allclose(rows[1].numpy(), np.exp(x.numpy()))


def test_jet_inside_jet_keeps_levels_apart() -> None:
    def inner(x: Any) -> Any:
        return jet(lambda y: x * y ** 3, (x,), ([torch.ones_like(x), None],))[1][1]       # 6 x x
    _, derivatives = jet(inner, (number(2.0),), ([number(1.0), None],))
    assert [d.item() for d in derivatives] == [24.0, 12.0]


def test_jet_is_recorded_by_autograd() -> None:
    x = torch.tensor(0.5, dtype=DOUBLE, requires_grad=True)
    jet(torch.sin, (x,), ([torch.ones((), dtype=DOUBLE), None],))[1][1].backward()
    np.testing.assert_allclose(x.grad.item(), -math.cos(0.5))


def test_custom_function_goes_by_its_jvp() -> None:
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x ** 3

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(inputs[0])

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            return 3 * ctx.saved_tensors[0] ** 2 * tangent
    _, derivatives = jet(Cube.apply, (number(2.0),), ([number(1.0), None, None],))
    assert [d.item() for d in derivatives] == [12.0, 12.0, 6.0]


def test_a_tensor_from_outside_is_not_written() -> None:
    outside = torch.zeros(2, dtype=DOUBLE)
    x, series = torch.ones(2, dtype=DOUBLE), [torch.ones(2, dtype=DOUBLE)]
    for function in (lambda x: outside.add_(1.0) + x, lambda x: torch.add(outside, 1.0, out=outside) + x):
        with pytest.raises(RuntimeError, match="that would mutate a captured Tensor"):
            jet(function, (x,), (series,))
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor with a functional tensor"):
        jet(lambda x: outside.add_(x), (x,), (series,))
    assert outside.tolist() == [0.0, 0.0]


def test_wrong_calls_say_what_is_expected() -> None:
    x = number(1.0)
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        jet(torch.sin, x, ([x],))
    with pytest.raises(RuntimeError, match="a list of derivatives for each of the primals. Got 1 primals and 2 lists"):
        jet(torch.sin, (x,), ([x], [x]))
    with pytest.raises(RuntimeError, match="Expected at least one derivative"):
        jet(torch.sin, (x,), ([],))
    with pytest.raises(RuntimeError, match=r"Derivative 2 has shape \[2\], the primal \[\]"):
        jet(torch.sin, (x,), ([x, torch.ones(2)],))
    with pytest.raises(RuntimeError, match="return only tensors, got unsupported type <class 'int'>"):
        jet(lambda x: 3, (x,), ([x],))
