"""For random index expressions, reading and writing do what NumPy does, and gradients count what was read."""
from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from retrograd.autograd.backward import grad
from retrograd.core.tensor import new_tensor

few = settings(max_examples=150, derandomize=True, deadline=None, database=None)
SHAPES = st.sampled_from([(4,), (2, 3), (3, 1, 2), (2, 3, 4), (1, 2, 3, 2)])


@st.composite
def indexed(draw: Any, advanced: bool = True) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """A shape and an index tuple that fits it; index arrays are NumPy's."""
    shape = draw(SHAPES)
    length = draw(st.sampled_from([(), (2,), (2, 2)]))          # the common shape of all index arrays
    index: list[Any] = []
    dim = 0
    while dim < len(shape) and draw(st.booleans()):
        kind = draw(st.sampled_from(["int", "slice", "none", "array", "mask"] if advanced else ["int", "slice", "none"]))
        size = shape[dim]
        if kind == "none":
            index.append(None)
            continue
        if kind == "int":
            index.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-size - 1, size + 1)
            index.append(slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "array" or any(isinstance(i, np.ndarray) for i in index):
            index.append(np.array(draw(st.lists(st.integers(-size, size - 1), min_size=int(np.prod(length)),
                                                max_size=int(np.prod(length))))).reshape(length))
        else:
            index.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
            dim = len(shape) if len(length) != 1 else dim       # a mask's length would have to fit other arrays
            break
        dim += 1
    if dim < len(shape) and draw(st.booleans()):
        index.append(Ellipsis)
    return shape, tuple(index)


def as_tensors(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([new_tensor(np.array(i)) if isinstance(i, np.ndarray) else i for i in index])


def fits_numpy(index: tuple[Any, ...]) -> bool:
    """NumPy moves the result of index arrays apart from each other to the front, where an int counts as an array."""
    arrays = [isinstance(i, np.ndarray) for i in index]
    return not any(arrays) or not any(type(i) is int for i in index)


def numbered(shape: tuple[int, ...]) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.float64).reshape(shape)


@given(indexed())
@few
def test_reading_gives_what_numpy_gives(case: Any) -> None:
    shape, index = case
    if fits_numpy(index):
        array = numbered(shape)
        np.testing.assert_array_equal(new_tensor(array)[as_tensors(index)].array, array[index])


@given(indexed(advanced=False))
@few
def test_basic_index_is_a_view(case: Any) -> None:
    shape, index = case
    array = numbered(shape)
    view = new_tensor(array)[index]
    assert np.shares_memory(view.array, array) or view.numel() == 0
    view.zero_()
    expected = numbered(shape)
    expected[index] = 0
    np.testing.assert_array_equal(array, expected)


@given(indexed())
@few
def test_gradient_counts_how_often_each_element_was_read(case: Any) -> None:
    shape, index = case
    x = new_tensor(numbered(shape)).requires_grad_()
    read = x[as_tensors(index)]
    found, = grad(read.sum(), x)
    positions = new_tensor(np.arange(x.numel()).reshape(shape))[as_tensors(index)]
    expected = np.bincount(positions.array.reshape(-1), minlength=x.numel()).reshape(shape)
    np.testing.assert_array_equal(found.array, expected)


@given(indexed(), st.booleans())
@few
def test_writing_does_what_numpy_does(case: Any, with_tensor: bool) -> None:
    shape, index = case
    if not fits_numpy(index):
        return
    array = numbered(shape)
    expected = array.copy()
    places = np.arange(array.size).reshape(shape)[index]
    values = -1.0 - places                 # the same for places that are written more than once
    x = new_tensor(array)
    x[as_tensors(index)] = new_tensor(np.array(values)) if with_tensor else -7.0
    expected[index] = values if with_tensor else -7.0
    np.testing.assert_array_equal(x.array, expected)


@given(indexed())
@few
def test_gradient_of_a_write_reaches_the_value_and_what_was_left(case: Any) -> None:
    shape, index = case
    if not fits_numpy(index):
        return
    x = new_tensor(numbered(shape)).requires_grad_()
    value = new_tensor(np.array(2.0)).requires_grad_()
    y = x * 3
    y[as_tensors(index)] = value
    of_x, of_value = grad(y.sum(), (x, value), allow_unused=True)
    expected = np.full(shape, 3.0)
    expected[index] = 0
    np.testing.assert_array_equal(of_x.array, expected)
    written = numbered(shape)[index].size
    assert (0 if of_value is None else of_value.tolist()) == written or len(set(np.ravel(
        np.arange(x.numel()).reshape(shape)[index]))) < written
