"""The short way gives what the layers give, for every sample: values, memory order, version, node, what is saved, errors."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core.state import add_slow_path
from retrograd.core.tensor import COMPILED
from tests.ops import cases


@contextmanager
def layers() -> Iterator[None]:
    """All calls go through the layers of dispatch."""
    add_slow_path(1)
    try:
        yield
    finally:
        add_slow_path(-1)


def described(made: Any) -> Any:
    """All that a user can see of a result, without its values."""
    if not isinstance(made, torch.Tensor):
        return type(made).__name__, None if isinstance(made, float) else made
    node = made.grad_fn
    about = (str(made.dtype), tuple(made.shape), made.layout == torch.strided and tuple(made.stride()), made.storage_offset(),
             made._version, made.requires_grad, made._is_view(), made.is_conj(), made.is_neg())
    return about if node is None else (*about, *described_node(node))


def described_node(node: Any) -> Any:
    saved = sorted(name for name in dir(node) if name.startswith("_saved_"))
    values = [shown(getattr(node, name)) for name in saved]
    return node.name(), [None if n is None else (n.name(), nr) for n, nr in node.next_functions], saved, values


def shown(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value._version
    return [shown(v) for v in value] if isinstance(value, (list, tuple)) else value


def fresh(case: Any, records: bool) -> list[Any]:
    """The arguments of a sample, as new leaves, or as intermediate results where the op writes to them."""
    places = case.places
    wanted = set(case.differentiable) if records else set()
    tensors = [cases.like(case.at(i, k), cases.value(case.at(i, k)), requires_grad=(i, k) in wanted) for i, k in places]
    args = case.arguments(places, tensors)
    if case.op.is_inplace and records and case.differentiable:
        args[0] = args[0].clone()
    return args


def result(case: Any, records: bool) -> list[Any]:
    with warnings.catch_warnings(action="ignore"):
        return cases.outputs(cases.invoke(case.op, fresh(case, records)))


def is_repeatable(case: Any) -> bool:
    """Whether a call can be made again with equal arguments, and its result compared with the first one's."""
    return not cases.is_layout(case.op) and all([t.layout == torch.strided for t in case.tensors()]) and not any(
        [isinstance(a, (torch.Generator, torch.UntypedStorage)) for a in case.args])


def comparable(case: Any) -> bool:
    return case.op.name not in cases.UNDEFINED


# Transforms over several dimensions are computed at once without modes, and one by one in the layers: other rounding.
AT_ONCE = {"fft_fft2", "fft_fftn", "fft_ifft2", "fft_ifftn"}
# Pooling that records nothing has a kernel of its own; in the layers its result is a view of that in two dimensions.
ONE_KERNEL = {"avg_pool1d", "max_pool1d", "max_pool1d_with_indices"}


@cases.over(is_repeatable)
def test_every_sample_gives_the_same_on_the_short_way(case: Any) -> None:
    for records in (False, True):
        if records and not case.differentiable:
            continue
        with layers():
            expected = result(case, records)
        for _ in range(3 if COMPILED else 6):    # functions are written out at the second call, kernels recorded at the fifth
            made = result(case, records)
            if case.op.name not in ONE_KERNEL:
                assert [described(t) for t in made] == [described(t) for t in expected]
            if comparable(case):
                for ours, theirs in zip(made, expected, strict=True):
                    if isinstance(ours, (torch.Tensor, float)):
                        np.testing.assert_allclose(plain(ours), plain(theirs), rtol=1e-13 if case.op.name in AT_ONCE else 0)


def plain(value: Any) -> Any:
    return cases.value(value) if isinstance(value, torch.Tensor) else value


def error_of(call: Callable[[], Any]) -> tuple[str, str] | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.parametrize("name", sorted(cases.BY_OP))
def test_wrong_arguments_give_the_same_error_on_the_short_way(name: str) -> None:
    """Each argument of the first sample in turn is replaced by something else, after calls that were in order."""
    case = next((c for c in cases.BY_OP[name] if is_repeatable(c) and not cases.is_random(c.op)), None)
    if case is None or case.op.is_inplace:
        return
    for _ in range(2):
        result(case, False)
    for i in range(len(case.args)):
        for other in (None, "text", 1.5, -7, torch.zeros(2, 0, 3), torch.ones((), dtype=torch.bool), [1, None]):
            args = fresh(case, False)
            args[i] = other
            with layers():
                expected = error_of(lambda args=args: cases.invoke(case.op, args))
            for _ in range(3):
                assert error_of(lambda args=args: cases.invoke(case.op, args)) == expected, (i, other)
