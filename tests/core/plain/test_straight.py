"""Recorded kernels do what the kernels do, with the values they were recorded with and with others."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from retrograd.core.kernels import plain_uniformity
from retrograd.core.plain.straight import Kernels, alike, attempt, recorded, straight
from retrograd.core.tensor import COMPILED, Tensor
from retrograd.core.tracing import Untraceable
from tests.ops import cases

SKIPPED = {"empty", "empty_like", "new_empty", "new_empty_strided", "empty_strided", "empty_permuted"}


def values_of(case: Any) -> list[Any]:
    op = case.op
    values = [cases.value(a) if isinstance(a, Tensor) else a for a in case.args]
    for i in op.dtype_args:
        values[i] = None if values[i] is None else values[i].numpy
    return values


def is_recorded(case: Any) -> bool:
    """Whether the plain core may run a recorded form of the op's kernel."""
    op = case.op
    return not (COMPILED or op.composite or op.random or op.direct or op.is_inplace or op.is_out or op.has_lists
                or op.name in SKIPPED or op.kernel is None) and bool(plain_uniformity(op, values_of(case)))


def others(value: Any) -> Any:
    """An array of the same form with other values; indices stay valid."""
    if type(value) is not np.ndarray:
        return value
    made = np.empty_like(value)
    made[...] = value * value.dtype.type(0.75) if value.dtype.kind in "fc" else value.reshape(-1)[::-1].reshape(value.shape)
    return made if made.strides == value.strides else value


@cases.over(is_recorded)
def test_recorded_kernels_give_the_same_bits(case: Any) -> None:
    compute, values = case.op.compute, values_of(case)
    try:
        run = recorded(compute, values)
    except Exception:                # it asks for values: every call runs the kernel
        return
    if not alike(run(*arrays(values)), compute(np, *values)):       # other memory order on other arrays: it is not used
        return
    given = [others(v) for v in values]
    try:
        expected = compute(np, *given)
    except Exception:                # other values may be refused
        return
    assert alike(run(*arrays(given)), expected)


def arrays(values: Any) -> Any:
    return [v for v in values if type(v) is np.ndarray]


def normalized(xp: Any, x: Any, dim: int) -> Any:
    kept = x - xp.add.reduce(x, dim, keepdims=True) / x.shape[dim]
    kept *= 2.0
    return xp.ascontiguousarray(kept).reshape(x.shape), xp.zeros(2)


def test_a_recorded_kernel_has_its_calls_alone() -> None:
    x = np.arange(6.0).reshape(2, 3)
    run = recorded(normalized, [x, 1])
    assert alike(run(x), normalized(np, x, 1)) and alike(run(x * x), normalized(np, x * x, 1))
    assert run(x)[1] is not run(x)[1]           # each result is new


def test_what_is_the_same_in_every_run_is_computed_once() -> None:
    seen: list[int] = []

    def compute(xp: Any, x: Any) -> Any:
        seen.append(1)
        return x + xp.arange(3).astype(x.dtype) * xp.asarray(2.0)

    run = recorded(compute, [np.zeros(3)])
    assert run.__code__.co_names == () and run(np.ones(3)).tolist() == [1.0, 3.0, 5.0]
    assert seen == [1]


@pytest.mark.parametrize("compute", [
    lambda xp, x: x if (x > 0).all() else -x,
    lambda xp, x: x * float(x[0]),
    lambda xp, x: xp.nonzero(x)[0],
    lambda xp, x: x[x > 0],
    lambda xp, x: xp.asarray(x.tolist()),
    lambda xp, x: np.linalg.norm(np.asarray(x)),
    lambda xp, x: xp.random.rand(2) + x,
    lambda xp, x: [x.fill(2.0), x][1],
    lambda xp, x: xp.multiply(x, x, x),
    lambda xp, x: xp.asarray(np.ones(2)) if x.ndim else x,
    lambda xp, x: x.take(np.array([1]), 0, np.empty(1)),
])
def test_kernels_that_depend_on_values_or_write_to_operands_are_not_recorded(compute: Any) -> None:
    x = np.array([1.0, 2.0])
    with pytest.raises(Untraceable):
        attempt(recorded, (compute, [x]))
    assert x.tolist() == [1.0, 2.0]
    assert straight(compute, [x.copy()]) is None


@pytest.mark.parametrize(("compute", "reason"), [
    (lambda xp, x: xp.nonzero(x)[0], "nonzero depends on values"),
    (lambda xp, x: x.tolist(), "asks for .tolist"),
    (lambda xp, x: x.reshape(5), "ValueError: cannot reshape array of size 2"),
    (lambda xp, x: setattr(x, "shape", (2, 1)), "changes the form"),
])
def test_the_reason_why_a_kernel_is_not_recorded_is_named(compute: Any, reason: str) -> None:
    with pytest.raises(Untraceable, match=reason):
        attempt(recorded, (compute, [np.ones(2)]))


def test_a_mistake_in_a_kernel_is_not_taken_for_a_kernel_without_a_recorded_form() -> None:
    with pytest.raises(AttributeError, match="NoneType"):
        straight(lambda xp, x: None.reshape(x.shape), [np.ones(2)])  # type: ignore[attr-defined]


def test_a_key_is_recorded_when_it_is_met_again() -> None:
    runs: list[int] = []

    def compute(xp: Any, x: Any) -> Any:
        runs.append(1)
        for _ in range(200):
            len(x.shape)
        return x + x

    kernels = Kernels(compute)
    x = np.ones(3)
    for _ in range(3):
        assert kernels.learn("key", x).tolist() == [2.0] * 3
    count = len(runs)
    assert kernels["key"](x * 2).tolist() == [4.0] * 3
    assert len(runs) == count and "other" not in kernels


def test_a_kernel_that_writes_to_its_operand_runs_no_more_often_than_it_is_called() -> None:
    runs: list[Any] = []

    def compute(xp: Any, x: Any) -> Any:
        runs.append(type(x))
        x[...] = x + 1
        return x * 2

    kernels, x = Kernels(compute), np.zeros(3)
    for _ in range(4):
        kernels.learn("key", x)
    assert runs.count(np.ndarray) == 4 and x.tolist() == [4.0] * 3
    assert len(runs) == 5                       # and it is recorded once, in vain
