"""The derivatives of every op on sparse tensors, as functions of dense ones."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.autograd import forward_ad
from retrograd.autograd.backward import grad
from retrograd.core.opdef import NOT_IMPLEMENTED
from retrograd.core.tensor import new_tensor
from retrograd.func import vmap
from tests.ops.cases import ABOUT_SPARSE, SPARSE_CASES, Case, floating, has_gradient, like, over, value
from tests.ops.test_columns import check_gradient, check_second_gradient
from tests.samples import REGISTRY

pytestmark = pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta")
differentiable = over(has_gradient, SPARSE_CASES)


@pytest.mark.parametrize("name", sorted(ABOUT_SPARSE))
def test_op_has_samples(name: str) -> None:
    assert name in REGISTRY


test_gradient_agrees_with_finite_differences = differentiable(check_gradient)
test_second_gradient_agrees_with_finite_differences = differentiable(check_second_gradient)


@differentiable
def test_forward_mode_is_refused(case: Case) -> None:
    with forward_ad.dual_level():
        duals = [forward_ad.make_dual(t.detach(), torch.ones_like(t)) for t in case.tensors(case.differentiable)]
        with pytest.raises(NotImplementedError, match="Trying to use forward AD with .* that does not support it"):
            case.observe(case.differentiable, duals)


@differentiable
def test_batching_is_refused(case: Case) -> None:
    stacked = [new_tensor(np.stack([value(t)] * 2)) for t in case.tensors(case.differentiable)]
    with pytest.raises((NotImplementedError, RuntimeError)):
        vmap(lambda *tensors: case.observe(case.differentiable, tensors))(*stacked)


@over(lambda case: case.op.vjp == NOT_IMPLEMENTED, SPARSE_CASES)
def test_missing_rule_is_an_error(case: Case) -> None:
    given: Any = [like(t, value(t), requires_grad=True) for t in case.tensors(case.differentiable)]
    results = floating(case.observe(case.differentiable, given))
    with pytest.raises(RuntimeError, match="derivative for .* is not implemented"):
        grad(results, given, [torch.ones_like(t) for t in results])
