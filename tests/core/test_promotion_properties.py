"""For random operands, the dtype of an op's result is the one that the promotion table says."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd.core import dtypes
from retrograd.core.tensor import new_tensor

DTYPES = [dtypes.bool_, dtypes.uint8, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.float16,
          dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128]
SHAPES = [(), (1,), (3,), (2, 3)]
NUMBERS = [True, 2, 2.5, 1 + 2j]
few = settings(max_examples=150, derandomize=True, deadline=None, database=None)


@st.composite
def operands(draw: Any) -> tuple[Any, Any]:
    """Two operands, at least one of them a tensor."""
    def tensor() -> Any:
        shape = draw(st.sampled_from(SHAPES))
        return new_tensor(np.ones(shape).astype(draw(st.sampled_from(DTYPES)).numpy))
    first = tensor()
    second = draw(st.sampled_from(NUMBERS)) if draw(st.booleans()) else tensor()
    return (first, second) if draw(st.booleans()) else (second, first)


def expected(pair: Any) -> Any:
    tensors = [t for t in pair if isinstance(t, torch.Tensor)]
    return dtypes.result_type_of([t.dtype for t in tensors if t.ndim], [t.dtype for t in tensors if not t.ndim],
                                 [x for x in pair if not isinstance(x, torch.Tensor)])


@given(operands())
@few
def test_product_has_the_common_dtype(pair: Any) -> None:
    assert (pair[0] * pair[1]).dtype is expected(pair)


@given(operands())
@few
def test_sum_has_the_common_dtype(pair: Any) -> None:
    assert (pair[0] + pair[1]).dtype is expected(pair)


@given(operands())
@few
def test_quotient_is_floating(pair: Any) -> None:
    common = expected(pair)
    assume(common is not dtypes.complex32)                    # which has no quotients
    assert (pair[0] / pair[1]).dtype is (common if common.category >= 2 else dtypes.get_default_dtype())


@given(operands())
@few
def test_comparison_is_bool(pair: Any) -> None:
    assert (pair[0] == pair[1]).dtype is dtypes.bool_


@given(operands())
@few
def test_write_in_place_keeps_the_dtype_or_is_refused(pair: Any) -> None:
    target, other = pair
    if not isinstance(target, torch.Tensor) or (target * other).shape != target.shape:
        return
    before = target.dtype
    if dtypes.can_cast(expected(pair), before):
        assert target.clone().mul_(other).dtype is before
    else:
        with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
            target.clone().mul_(other)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(DTYPES, DTYPES)), ids=str)
def test_table_is_what_ops_do(first: Any, second: Any) -> None:
    a, b = new_tensor(np.ones(2).astype(first.numpy)), new_tensor(np.ones(2).astype(second.numpy))
    assert (a * b).dtype is dtypes.promote_types(first, second)
