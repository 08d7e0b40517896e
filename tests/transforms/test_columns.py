"""Every derivative over every sample, for several vectors at once: vmap of the backward and forward pass against a loop."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.core.tensor import new_tensor
from retrograd.transforms.vmap import _vmap
from tests.ops.cases import Case, direction, floating, has_gradient, is_batchable, like, over, value

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of")


def differentiated(case: Case) -> tuple[list[Any], list[Any]]:
    given = [like(t, value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
    return given, [t for t in floating(case.observe(case.differentiable, given))]


@over(has_gradient)
def test_batched_gradients_agree_with_a_loop(case: Case) -> None:
    given, results = differentiated(case)
    random = case.random("batched")
    vectors = [np.stack([direction(random, value(t)) for _ in range(2)]) for t in results]
    batched = grad(results, given, [new_tensor(v) for v in vectors], retain_graph=True, allow_unused=True,
                   is_grads_batched=True)
    single = [grad(results, given, [new_tensor(np.array(v[i])) for v in vectors], retain_graph=True, allow_unused=True)
              for i in range(2)]
    compare(batched, single)


@over(is_batchable)
def test_batched_tangents_agree_with_a_loop(case: Case) -> None:
    tensors = case.tensors(case.differentiable)
    random = case.random("tangents")
    vectors = [np.stack([direction(random, value(t)) for _ in range(2)]) for t in tensors]

    def jvp(*tangents: Any) -> Any:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(like(t, value(t)), tangent) for t, tangent in zip(tensors, tangents, strict=True)]
            unpacked = [forward_ad.unpack_dual(t) for t in floating(case.observe(case.differentiable, duals))]
            return tuple([torch.zeros_like(p) if t is None else t for p, t in unpacked])
    single = [jvp(*[new_tensor(np.array(v[i])) for v in vectors]) for i in range(2)]
    compare(_vmap(jvp)(*[new_tensor(v) for v in vectors]), single)


def compare(batched: Any, single: Any) -> None:
    for i, many in enumerate(batched):
        parts = [one[i] for one in single]
        assert (many is None) == (parts[0] is None)
        if many is not None:
            expected = np.stack([value(t) for t in parts])
            assert many.array.shape == expected.shape
            assert many.array.dtype == expected.dtype
            np.testing.assert_allclose(value(many), expected, 1e-9, 1e-9)
