"""Every sample gives PyTorch's values, gradients and tangents, in its layout, as it is and cast to other dtypes.

The answers are recorded (recorded.py): a kernel and a rule that are wrong together agree with each other, not with them.
"""
from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.ops.cases import CASES, SPARSE_CASES, Case, over, value
from tests.ops.facts import RETROGRAD, observe, results_of
from tests.ops.recorded import GRADIENTS, REFUSED, differences, is_refused, record_of

EVERY = [*CASES, *SPARSE_CASES]


def gru(x: Any, h: Any, w_x: Any, w_h: Any, *no_bias: None) -> Any:
    given, kept = np.split(w_x @ x, 3), np.split(w_h @ h, 3)
    reset, update = [1 / (1 + np.exp(-given[i] - kept[i])) for i in (0, 1)]
    return (1 - update) * np.tanh(given[2] + reset * kept[2]) + update * h


# What the samples that PyTorch cannot run come to; its reasons are in the file REFUSED.
FORMULAS = {
    "_conj_copy.default": np.array,
    "_sparse_resize_.default": lambda t, *sizes: np.pad(np.where(np.arange(12).reshape(3, 4) % 3 != 0, t, 0), ((0, 1), (0, 1))),
    "_sparse_values_at.default": lambda t, places: np.where(np.arange(12).reshape(3, 4) % 3 != 0, t, 0)[tuple(places)],
    "gru_cell.default": gru,
}
# It reads a workspace that only oneDNN writes; finite differences check mkldnn_rnn_layer, whose rule it is.
WITHOUT_FORMULA = {"mkldnn_rnn_layer_backward.default"}


@over(lambda case: True, EVERY)
def test_sample_agrees_with_pytorch(case: Case) -> None:
    record = record_of(case)
    assert record is not None, (
        f"no value of PyTorch is recorded for {case}, or its sample was changed since; with torch installed, run "
        f"`python tools/record_values.py` and commit tests/golden/values")
    found = []
    for dtype, wanted in record.items():
        if dtype != "inputs":
            cast = None if dtype == "as is" else dtype
            outcome = observe(RETROGRAD, case, cast, batched=False, gradients=GRADIENTS)
            found += differences(case.op.__name__, wanted, outcome, cast)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", json.loads(REFUSED.read_text()))
def test_sample_that_pytorch_cannot_run_agrees_with_a_formula(name: str) -> None:
    op, _, number = name.rpartition("-")
    case, = [case for case in EVERY if (case.op.__name__, case.number) == (op, int(number))]
    record = record_of(case)
    assert record is not None and is_refused(record)
    if op not in WITHOUT_FORMULA:
        made, = results_of(RETROGRAD, case, [t.detach() for t in case.tensors()])
        given = [value(a) if hasattr(a, "array") else a for a in case.args]
        np.testing.assert_allclose(value(made), FORMULAS[op](*given), 1e-12, 1e-12)


def test_every_sample_is_recorded_or_listed_as_refused() -> None:
    refused = {f"{case.op.__name__}-{case.number}" for case in EVERY if (record := record_of(case)) and is_refused(record)}
    assert refused == set(json.loads(REFUSED.read_text()))
