"""Every op of the tables is complete: it has samples, its rules name what exists, and no column is missing."""
from __future__ import annotations

from typing import Any

import pytest

from retrograd.core import forward
from retrograd.core.opdef import NOT_IMPLEMENTED
from tests.ops.cases import BROKEN, BY_OP, TABLE
from tests.samples import REGISTRY

# PyTorch does not have their forward derivatives either, and says so.
NO_FORWARD = {"igamma", "igamma_", "igammac", "igammac_", "special_zeta"}
# Differentiable, but no sample differentiates them: their gradients are made up, not determined, or not looked at yet.
UNDIFFERENTIATED = {"_cdist_backward", "_pdist_backward", "_test_autograd_multiple_dispatch",
                    "_test_autograd_multiple_dispatch_view", "_test_autograd_multiple_dispatch_view_copy",
                    "_test_warn_in_autograd", "histogram", "special_zeta.other_scalar"}

NO_GRADIENT = {"special_zeta.other_scalar"}
each_op = pytest.mark.parametrize("op", TABLE.values(), ids=list(TABLE))


@each_op
def test_op_has_samples(op: Any) -> None:
    assert BY_OP.get(op.__name__), f"no entry for {op.__name__} in tests/samples"


@pytest.mark.parametrize("name", REGISTRY)
def test_samples_belong_to_an_op(name: str) -> None:
    assert name in TABLE


@each_op
def test_rules_name_what_the_schema_has(op: Any) -> None:
    if op.__name__ in BROKEN:
        raise BROKEN[op.__name__]
    if isinstance(op.vjp, dict):
        for key in op.vjp:
            assert set(key if isinstance(key, tuple) else (key,)) <= {p.name for p in op.schema.params}
    if callable(op.jvp):
        forward.formula_sources(op)


@each_op
def test_columns_are_filled(op: Any) -> None:
    if op.composite:
        assert op.vjp is None and op.jvp is None and op.batch is None, "a composite op has the derivatives of its parts"
        return
    if op.tensor_args:
        assert callable(op.batch)
    if op.differentiable and op.vjp != NOT_IMPLEMENTED and op.name not in NO_FORWARD:
        assert op.jvp in ("linear", "multilinear", "elementwise") or callable(op.jvp)


@each_op
def test_differentiable_op_is_differentiated_by_a_sample(op: Any) -> None:
    if op.differentiable and op.vjp != NOT_IMPLEMENTED and not {op.name, op.__name__} & UNDIFFERENTIATED:
        assert any((case.differentiable or case.refused) and case.sample.grad for case in BY_OP.get(op.__name__, ()))
