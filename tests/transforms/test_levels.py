"""Every derivative over every sample, taken by function transforms: against autograd and forward mode."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.core.opdef import NOT_IMPLEMENTED
from retrograd.func import jvp, vjp
from tests.ops.cases import Case, direction, floating, is_random, like, those, value

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of", "ignore:There is a performance drop")


def has_gradient(case: Case) -> bool:
    return bool(case.sample.grad and case.differentiable and case.op.vjp != NOT_IMPLEMENTED and not is_random(case.op))


def inputs(case: Case, requires_grad: bool = False) -> list[Any]:
    return [like(t, value(t), requires_grad=requires_grad) for t in case.tensors(case.differentiable)]


def wanted(case: Case) -> list[int]:
    """Which of the outputs gradients flow through."""
    made = case.observe(case.differentiable, inputs(case, requires_grad=True))
    return [i for i, t in enumerate(made) if isinstance(t, torch.Tensor) and t.requires_grad]


def function(case: Case, places: list[int]) -> Any:
    def run(*tensors: Any) -> Any:
        made = case.observe(case.differentiable, list(tensors))
        return tuple([made[i] for i in places])
    return run


def vectors(case: Case, tensors: Any, purpose: str) -> tuple[Any, ...]:
    random = case.random(purpose)
    return tuple([torch.Tensor(np.array(direction(random, value(t)))) for t in tensors])


@pytest.mark.parametrize(**those(has_gradient))
def test_vjp_agrees_with_autograd(case: Case) -> None:
    given = inputs(case, requires_grad=True)
    results = floating(case.observe(case.differentiable, given))
    if not results:
        pytest.skip("no output has a gradient here")
    cotangents = vectors(case, results, "vjp")
    expected = grad(results, given, cotangents, allow_unused=True)
    outputs, pull = vjp(function(case, wanted(case)), *inputs(case))
    assert_same(outputs, results)
    assert_same(pull(cotangents), expected)


@pytest.mark.parametrize(**those(lambda case: has_gradient(case) and case.forward))
def test_jvp_agrees_with_forward_mode(case: Case) -> None:
    places = wanted(case)
    if not places:
        pytest.skip("no output has a gradient here")
    given = inputs(case)
    directions = vectors(case, given, "jvp")
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t, v) for t, v in zip(inputs(case), directions, strict=True)]
        expected = [forward_ad.unpack_dual(t) for t in function(case, places)(*duals)]
    outputs, tangents = jvp(function(case, places), tuple(given), directions)
    assert_same(outputs, [pair.primal for pair in expected])
    assert_same(tangents, [pair.tangent for pair in expected])


def assert_same(made: Any, expected: Any, tolerance: float = 0.0) -> None:
    for a, b in zip(made, expected, strict=True):
        want = np.zeros_like(value(a)) if b is None else value(b)
        assert a.dtype == torch.Tensor(want).dtype
        np.testing.assert_allclose(value(a), want, rtol=max(tolerance, 1e-6), atol=max(tolerance, 1e-7), equal_nan=True)
