"""Every derivative over every sample, taken by function transforms, alone and within one another."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.core.tensor import new_tensor
from retrograd.func import jvp, vjp, vmap
from tests.ops.cases import CASES, Case, direction, has_gradient, is_batchable, is_layout, like, over, value

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of", "ignore:There is a performance drop",
                                        "ignore:The reduce argument of torch.scatter")
Tensors = tuple[Any, ...]


def inputs(case: Case, requires_grad: bool = False) -> Tensors:
    return tuple([like(t, value(t), requires_grad=requires_grad) for t in case.tensors(case.differentiable)])


def run(case: Case, *tensors: Any) -> Tensors:
    """The op as a function of its differentiable inputs, with the outputs that gradients flow through."""
    made = case.observe(case.differentiable, tensors)
    return tuple([made[i] for i in case.flowing])


def pull_back(case: Case, tensors: Tensors, cotangents: Tensors) -> Tensors:
    return vjp(lambda *given: run(case, *given), *tensors)[1](cotangents)


def push_forward(case: Case, tensors: Tensors, directions: Tensors) -> Tensors:
    return jvp(lambda *given: run(case, *given), tensors, directions)[1]


def vectors(random: np.random.Generator, tensors: Any) -> Tensors:
    return tuple([new_tensor(np.array(direction(random, value(t)))) for t in tensors])


# ---- one level
@over(has_gradient)
def test_vjp_agrees_with_autograd(case: Case) -> None:
    given = inputs(case, requires_grad=True)
    results = run(case, *given)
    cotangents = vectors(case.random("vjp"), results)
    expected = grad(results, given, cotangents, allow_unused=True)
    outputs, pull = vjp(lambda *tensors: run(case, *tensors), *inputs(case))
    assert_same(outputs, results)
    assert_same(pull(cotangents), expected)


@over(has_gradient)
def test_jvp_agrees_with_forward_mode(case: Case) -> None:
    given = inputs(case)
    directions = vectors(case.random("jvp"), given)
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t, v) for t, v in zip(inputs(case), directions, strict=True)]
        expected = [forward_ad.unpack_dual(t) for t in run(case, *duals)]
    outputs, tangents = jvp(lambda *tensors: run(case, *tensors), given, directions)
    assert_same(outputs, [pair.primal for pair in expected])
    assert_same(tangents, [pair.tangent for pair in expected])


# ---- one mode within the other: every way to the second derivative is the same
@over(has_gradient)
def test_forward_over_reverse_is_reverse_over_forward(case: Case) -> None:
    given, random = inputs(case), case.random("mixed")
    directions, cotangents = vectors(random, given), vectors(random, run(case, *given))
    expected = vjp(lambda *tensors: pull_back(case, tensors, cotangents), *given)[1](directions)
    forward_over_reverse = jvp(lambda *tensors: pull_back(case, tensors, cotangents), given, directions)[1]
    reverse_over_forward = vjp(lambda *tensors: push_forward(case, tensors, directions), *given)[1](cotangents)
    assert_same(forward_over_reverse, expected)
    assert_same(reverse_over_forward, expected)
    of_gradients, of_tangents = by_dual_numbers(case, directions, cotangents)
    assert_same(of_gradients, expected)
    assert_same(of_tangents, expected)


def by_dual_numbers(case: Case, directions: Tensors, cotangents: Tensors) -> tuple[list[Any], list[Any]]:
    """The tangents of the gradients and the gradients of the tangents, without transforms."""
    given = inputs(case, requires_grad=True)
    with forward_ad.dual_level():
        results = run(case, *[forward_ad.make_dual(t, v) for t, v in zip(given, directions, strict=True)])
        gradients = grad(results, given, cotangents, retain_graph=True, allow_unused=True)
        of_gradients = [None if g is None else forward_ad.unpack_dual(g).tangent for g in gradients]
        pairs = [(forward_ad.unpack_dual(t).tangent, v) for t, v in zip(results, cotangents, strict=True)]
        pairs = [(t, v) for t, v in pairs if t is not None and t.requires_grad]
        of_tangents = grad([t for t, _ in pairs], given, [v for _, v in pairs], allow_unused=True) if pairs else (
            [None] * len(given))
        zeros = [torch.zeros_like(t) for t in given]
        return [z if t is None else t for t, z in zip(of_gradients, zeros, strict=True)], (
            [z if t is None else t for t, z in zip(of_tangents, zeros, strict=True)])


first_samples = {case.op.__name__: case for case in reversed(CASES) if is_batchable(case)}


@over(lambda case: first_samples.get(case.op.__name__) is case)
def test_third_derivatives_agree_whatever_the_modes(case: Case) -> None:
    given, random = inputs(case), case.random("third")
    u, v, w = vectors(random, given), vectors(random, given), vectors(random, run(case, *given))

    def reverse_twice(*tensors: Any) -> Tensors:
        return vjp(lambda *x: pull_back(case, x, w), *tensors)[1](u)

    def forward_and_reverse(*tensors: Any) -> Tensors:
        return jvp(lambda *x: pull_back(case, x, w), tensors, u)[1]

    def reverse_and_forward(*tensors: Any) -> Tensors:
        return vjp(lambda *x: push_forward(case, x, u), *tensors)[1](w)

    expected = jvp(reverse_twice, given, v)[1]
    assert_same(vjp(forward_and_reverse, *given)[1](v), expected)
    assert_same(jvp(reverse_and_forward, given, v)[1], expected)


# ---- batching within derivatives and around them: as many examples at once as one after the other
@over(is_batchable)
def test_batching_commutes_with_derivatives(case: Case) -> None:
    random = case.random("batching")
    examples = [inputs(case), tuple([new_tensor(np.array(value(t) * 0.9)) for t in inputs(case)])]
    results = [run(case, *example) for example in examples]
    cotangents = [vectors(random, each) for each in results]
    gradients = [pull_back(case, *each) for each in zip(examples, cotangents, strict=True)]
    x, y, v, g = stacked(examples), stacked(results), stacked(cotangents), stacked(gradients)

    def each(*tensors: Any) -> Tensors:
        return run(case, *tensors)

    def each_gradient(tensors: Tensors, vectors: Tensors) -> Tensors:
        return vmap(lambda x, v: pull_back(case, x, v))(tensors, vectors)

    assert_same(vmap(each)(*x), y)
    # an example must lie in one piece where the layout counts
    outer = 0 if is_layout(case.op) else -1
    twice = [new_tensor(np.stack([value(t), value(t)[::-1]], outer)) for t in x]
    assert_same(vmap(vmap(each), in_dims=outer)(*twice), [new_tensor(np.stack([value(t), value(t)[::-1]])) for t in y])
    assert_same(each_gradient(x, v), g)
    assert_same(vjp(vmap(each), *x)[1](v), g)
    u = [vectors(random, example) for example in examples]
    tangents = [jvp(lambda *tensors, w=w: pull_back(case, tensors, w), *pair)[1]
                for *pair, w in zip(examples, u, cotangents, strict=True)]
    assert_same(jvp(lambda *tensors: each_gradient(tensors, v), x, stacked(u))[1], stacked(tangents))


def stacked(rows: list[Tensors]) -> Tensors:
    return tuple([new_tensor(np.stack([value(t) for t in column])) for column in zip(*rows, strict=True)])


def assert_same(made: Any, expected: Any) -> None:
    for a, b in zip(made, expected, strict=True):
        want = np.zeros_like(value(a)) if b is None else value(b)
        assert a.dtype == new_tensor(want).dtype
        relative, absolute = (1e-4, 1e-5) if want.dtype in (np.float32, np.complex64) else (1e-6, 1e-7)
        np.testing.assert_allclose(value(a), want, relative, absolute, equal_nan=True)
