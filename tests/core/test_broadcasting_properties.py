"""For random shapes, results are broadcast as NumPy does, gradients have the operands' shapes, and writes keep theirs."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.autograd.backward import grad
from retrograd.core.tensor import new_tensor

few = settings(max_examples=100, derandomize=True, deadline=None, database=None)
SIZES = st.sampled_from([0, 1, 2, 3])


@st.composite
def shapes(draw: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two shapes that broadcast: parts of one shape, with some sizes replaced by 1."""
    whole = draw(st.lists(SIZES, max_size=4))

    def part() -> tuple[int, ...]:
        kept = whole[draw(st.integers(0, len(whole))):]
        return tuple([1 if draw(st.booleans()) else n for n in kept])
    return part(), part()


def tensor(shape: Any, start: float = 1.0) -> Any:
    count = int(np.prod(shape, dtype=int))
    return new_tensor((np.arange(count) + start).reshape(shape)).requires_grad_()


@given(shapes())
@few
def test_result_is_what_numpy_gives(pair: Any) -> None:
    a, b = tensor(pair[0]), tensor(pair[1], 2.0)
    np.testing.assert_array_equal((a * b).detach().array, a.array * b.array)
    assert tuple((a - b).shape) == np.broadcast_shapes(*pair)


@given(shapes())
@few
def test_gradients_have_the_shapes_of_the_operands(pair: Any) -> None:
    a, b = tensor(pair[0]), tensor(pair[1], 2.0)
    out = a * b
    seed = new_tensor(np.arange(out.numel(), dtype=np.float64).reshape(out.shape))
    for t, other, found in zip((a, b), (b, a), grad(out, (a, b), seed), strict=True):
        assert found.shape == t.shape
        np.testing.assert_array_equal(found.array, summed(seed.array * other.array, t.array.shape))


def summed(array: Any, shape: tuple[int, ...]) -> Any:
    """`array` summed over the dimensions along which `shape` was broadcast."""
    array = array.sum(tuple(range(array.ndim - len(shape))))
    return array.sum(tuple([i for i, n in enumerate(shape) if n == 1 and array.shape[i] != 1]), keepdims=True)


@given(shapes())
@few
def test_write_in_place_never_grows_its_target(pair: Any) -> None:
    a, b = tensor(pair[0]).detach(), tensor(pair[1], 2.0).detach()
    expected = a.array + b.array
    if expected.shape == a.array.shape:
        a.add_(b)
        np.testing.assert_array_equal(a.array, expected)
    else:
        with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
            a.add_(b)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3), st.data())
@few
def test_shapes_that_do_not_fit_are_refused(sizes: list[int], data: Any) -> None:
    wrong = list(sizes)
    wrong[data.draw(st.integers(0, len(sizes) - 1))] += 1
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(\d\) must match the size of tensor b \(\d\)"):
        tensor(sizes) + tensor(wrong)


@given(shapes())
@few
def test_expanded_operand_is_the_same_as_a_broadcast_one(pair: Any) -> None:
    a, b = tensor(pair[0]), tensor(pair[1], 2.0)
    whole = np.broadcast_shapes(*pair)
    direct = grad((a * b).sum(), (a, b))
    expanded = grad((a.expand(whole) * b.expand(whole)).sum(), (a, b))
    for x, y in zip(direct, expanded, strict=True):
        np.testing.assert_array_equal(x.array, y.array)
