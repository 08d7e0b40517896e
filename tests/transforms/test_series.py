"""Taylor mode over every sample of every differentiable op: jets against nested forward mode."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.opdef import NOT_IMPLEMENTED
from retrograd.core.tensor import new_tensor
from retrograd.func import jet, jvp
from tests.ops.cases import Case, direction, is_random, like, over, value

pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0", "ignore:.*is in beta and the API may change",
                                        "ignore:torch.[a-z_]+ is deprecated in favor of", "ignore:There is a performance drop",
                                        "ignore:The reduce argument of torch.scatter")
ORDER = 3


def has_series(case: Case) -> bool:
    return bool(case.sample.grad and case.differentiable and (case.op.composite or case.op.jvp is not None)
                and case.op.vjp != NOT_IMPLEMENTED and not is_random(case.op) and case.flowing)


@over(has_series)
def test_jet_agrees_with_nested_forward_mode(case: Case) -> None:
    places = case.flowing
    inputs = [like(t, value(t)) for t in case.tensors(case.differentiable)]
    random = case.random("jet")
    series = [[new_tensor(np.array(direction(random, value(t)))) for _ in range(ORDER)] for t in inputs]

    def function(*tensors: Any) -> Any:
        made = case.observe(case.differentiable, list(tensors))
        return tuple([made[i] for i in places])
    values, derivatives = jet(function, tuple(inputs), tuple(series))
    expected = nested(function, inputs, series)
    for i, (y, made) in enumerate(zip(values, derivatives, strict=True)):
        for k, (got, want) in enumerate(zip([y, *made], [e[i] for e in expected], strict=True)):
            assert got.shape == want.shape
            assert got.dtype == y.dtype
            single = case.sample.note == "dtype" or y.dtype is torch.float32
            relative, absolute = (1e-4, 1e-5) if single else (1e-6, 1e-8)
            scale = 1 + np.abs(value(want)).max(initial=0.0, where=np.isfinite(value(want)))
            np.testing.assert_allclose(value(got) / scale, value(want) / scale, relative, absolute, err_msg=f"order {k}")


def nested(function: Any, inputs: Any, series: Any) -> list[Any]:
    """The value and the derivatives of `function` along the path, by one jvp inside the other."""
    def path(t: Any) -> Any:
        moved = []
        for x, one in zip(inputs, series, strict=True):
            rest: Any = 0
            for k in range(ORDER, 0, -1):
                rest = (one[k - 1] + rest) * (t / k)
            moved.append(x + rest)
        return function(*moved)

    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    found = [path(zero)]
    along = path
    for _ in range(ORDER):
        def along(t: Any, inner: Any = along) -> Any:
            return jvp(inner, (t,), (one,))[1]
        found.append(along(zero))
    return found
