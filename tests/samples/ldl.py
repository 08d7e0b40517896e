"""Samples of the ops in retrograd/ops/linalg/ldl.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from tests.samples import Maker, Sample, samples
from tests.samples.solve import COMPLEX


def symmetric(make: Maker, *shape: int, **kwargs: Any) -> Any:
    a = make(*shape, requires_grad=False, **kwargs)
    return a + a.mT


@samples("linalg_ldl_factor.default", "linalg_ldl_factor_ex.default")
def ldl_factor(make: Maker) -> Iterator[Sample]:
    yield Sample(symmetric(make, 3, 3))
    yield Sample(symmetric(make, 2, 3, 3, dtype=COMPLEX))
    a = make(3, 3, dtype=COMPLEX, requires_grad=False)
    yield Sample(a + a.mH, hermitian=True)
    yield Sample(make(0, 0, requires_grad=False))


@samples("linalg_ldl_solve.default")
def ldl_solve(make: Maker) -> Iterator[Sample]:
    yield Sample(*torch.linalg.ldl_factor(symmetric(make, 3, 3)), make(3, 2, requires_grad=False))
    yield Sample(*torch.linalg.ldl_factor(symmetric(make, 2, 3, 3)), make(2, 3, 2, requires_grad=False))
