"""Every op that is made of others gives the same if its operands are still waited for: none looks at their memory itself."""
from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.compile import waiting
from retrograd.compile.deferred import Deferrer
from retrograd.compile.state import backend_config
from tests.ops.cases import TABLE, UNDEFINED, Case, is_layout, is_random, over


def is_made_of_others(case: Case) -> bool:
    return (case.op.composite and case.op.__name__ in TABLE and case.number < 4 and not is_random(case.op)
            and not is_layout(case.op) and case.op.name not in UNDEFINED)


def call(case: Case) -> list[Any]:
    """The op of products with 1, and the products of its results with 1."""
    def times_one(t: Any) -> Any:
        plain = type(t) is torch.Tensor and t.layout is torch.strided and t.dtype in (torch.float32, torch.float64)
        return t.detach() * 1 if plain else t
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):
        return [times_one(t) for t in case.call(case.places, [times_one(t) for t in case.tensors()])]


@over(is_made_of_others)
def test_op_of_operands_that_wait(case: Case) -> None:
    expected = call(case)
    with pytest.MonkeyPatch.context() as patch, backend_config.patch(fusion_code=False):
        patch.setattr(waiting, "empty", lambda shape, dtype: np.full(shape, -1e9, dtype))      # to be seen by nobody
        for _ in range(2):                # the layouts of the operands are found out in the first round
            with Deferrer():
                made = call(case)
    for got, wanted in zip(made, expected, strict=True):
        if isinstance(wanted, torch.Tensor) and wanted.layout is torch.strided:
            torch.testing.assert_close(got, wanted, equal_nan=True)
