"""Claims about index expressions; error texts and results are those of PyTorch 2.13."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from core.fake_tensor import FakeTensor, install

from retrograd.core.indexing import parse_index


@pytest.fixture(autouse=True)
def fake_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


class Expression:
    def __getitem__(self, index: Any) -> Any:
        return index


I = Expression()  # reads as an index: I[1, :]
Y = np.arange(24).reshape(2, 3, 4)


def parse(index: Any, shape: tuple[int, ...] = Y.shape) -> tuple[list[Any], Any]:
    steps, tensors = parse_index(shape, index)
    return steps, tensors and [t if t is None or type(t) is bool else t.array.tolist() for t in tensors]


@pytest.mark.parametrize(
    ("index", "steps"),
    [
        (1, [("select", 0, 1)]),
        (-1, [("select", 0, 1)]),
        (np.int64(1), [("select", 0, 1)]),
        (FakeTensor(1), [("select", 0, 1)]),
        (np.array(1), [("select", 0, 1)]),
        (I[:], []),
        (I[0:9], []),
        (I[...], []),
        ((), []),
        (None, [("unsqueeze", 0)]),
        (I[1:], [("slice", 0, 1, 2, 1)]),
        (I[-1:], [("slice", 0, 1, 2, 1)]),
        (I[:, ::2], [("slice", 1, 0, 3, 2)]),
        (I[5:1], [("slice", 0, 2, 2, 1)]),
        (I[FakeTensor(1) :], [("slice", 0, 1, 2, 1)]),
        (I[0, 1], [("select", 0, 0), ("select", 0, 1)]),
        (I[:, 1], [("select", 1, 1)]),
        (I[..., -1], [("select", 2, 3)]),
        (I[..., None], [("unsqueeze", 3)]),
        (I[0, None, ..., 1], [("select", 0, 0), ("unsqueeze", 0), ("select", 2, 1)]),
        (I[:, None, 1:2], [("unsqueeze", 1), ("slice", 2, 1, 2, 1)]),
    ],
)
def test_basic_indexes_are_view_steps(index: Any, steps: list[Any]) -> None:
    assert parse(index) == (steps, None)


@pytest.mark.parametrize(
    ("index", "steps", "tensors"),
    [
        ([0, 1], [], [[0, 1]]),
        (range(2), [], [[0, 1]]),
        (np.array([1, 0]), [], [[1, 0]]),
        ([], [], [[]]),
        ([True, False], [], [[True, False]]),
        (FakeTensor([1]), [], [[1]]),
        (I[:, [0, 1]], [], [None, [0, 1]]),
        (I[..., [0, 1]], [], [None, None, [0, 1]]),
        (I[0, :, [0, 1]], [("select", 0, 0)], [None, [0, 1]]),
        (I[[0, 1], None, [1]], [("unsqueeze", 1)], [[0, 1], None, [1]]),
        (I[[0, 1], :], [], [[0, 1]]),
        (True, [("unsqueeze", 0)], [True]),
        (False, [("unsqueeze", 0)], [False]),
        (I[:, True], [("unsqueeze", 1)], [None, True]),
        (FakeTensor(True), [("unsqueeze", 0)], [True]),
        (FakeTensor(np.uint8(0)), [("unsqueeze", 0)], [False]),
    ],
)
def test_advanced_indexes_are_listed_by_dimension(index: Any, steps: list[Any], tensors: list[Any]) -> None:
    assert parse(index) == (steps, tensors)


def test_a_mask_is_one_entry_for_all_the_dimensions_it_covers() -> None:
    mask = np.ones((2, 3), dtype=bool)
    assert parse(I[FakeTensor(mask), [0]]) == ([], [mask.tolist(), [0]])
    assert parse(I[..., FakeTensor(np.ones((3, 4), dtype=bool))])[1][0] is None


@pytest.mark.parametrize(
    ("index", "same_as"),
    [
        ([[0, 1], [1, 0]], I[[0, 1], [1, 0]]),
        ([slice(0, 1), 0], I[0:1, 0]),
        ([None, 0], I[None, 0]),
        ([..., 0], I[..., 0]),
        ([[0, 1], 1], I[[0, 1], 1]),
        ([(0, 1), (1, 0)], I[[0, 1], [1, 0]]),
    ],
)
def test_a_list_that_holds_more_than_numbers_is_a_tuple_with_a_warning(index: Any, same_as: Any) -> None:
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing is deprecated"):
        assert parse(index) == parse(same_as)


def test_a_list_of_32_lists_is_one_index_tensor() -> None:
    assert parse([[0]] * 32) == ([], [[[0]] * 32])


NOT_AN_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"
)
NOT_A_BOUND = "slice indices must be integers or None or have an __index__ method"
NOT_AN_INT_TENSOR = "only integer tensors of a single element can be converted to an index"


@pytest.mark.parametrize(
    ("shape", "index", "error", "message"),
    [
        ((2, 3), I[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        ((2, 3), I[None, 0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
        ((2, 3), FakeTensor(np.ones((2, 3, 1), bool)), IndexError, "too many indices for tensor of dimension 2"),
        ((3,), 5, IndexError, "index 5 is out of bounds for dimension 0 with size 3"),
        ((3,), -4, IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        ((2, 3), I[0, 7], IndexError, "index 7 is out of bounds for dimension 1 with size 3"),
        ((2, 3), I[None, 5], IndexError, "index 5 is out of bounds for dimension 1 with size 2"),
        ((), 5, IndexError, "index 5 is out of bounds for dimension 0 with size 0"),
        ((), 0, IndexError,
         "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
         "0-dim tensor to a number"),
        ((), I[0, 0], IndexError, "too many indices for tensor of dimension 0"),
        ((), I[:], IndexError, "slice() cannot be applied to a 0-dim tensor."),
        ((3,), 1.5, IndexError, NOT_AN_INDEX.format("float")),
        ((3,), {}, IndexError, NOT_AN_INDEX.format("dict")),
        ((3,), np.bool_(True), IndexError, NOT_AN_INDEX.format("numpy.bool")),
        ((2, 3), I[0, "a"], TypeError, "new(): invalid data type 'str'"),
        ((3,), b"a", TypeError, "new(): invalid data type 'bytes'"),
        ((3,), I[1.5:], TypeError, NOT_A_BOUND),
        ((3,), I["a":], TypeError, NOT_A_BOUND),
        ((3,), I[FakeTensor(1.5) :], TypeError, NOT_AN_INT_TENSOR),
        ((3,), I[FakeTensor([1, 2]) :], TypeError, NOT_AN_INT_TENSOR),
        ((3,), I[::-1], ValueError, "step must be greater than zero"),
        ((3,), I[::0], ValueError, "slice step cannot be zero"),
    ],
)  # fmt: skip
def test_wrong_indexes_fail_in_pytorchs_words(
    shape: tuple[int, ...], index: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as caught:
        parse_index(shape, index)
    assert str(caught.value) == message


def test_numpy_integers_are_taken_as_ints() -> None:
    assert parse_index((3,), np.int64(-1)) == ([("select", 0, 2)], None)
    with pytest.raises(IndexError, match="invalid index of a 0-dim tensor"):
        parse_index((), np.int64(0))


def test_a_slice_of_everything_is_a_step_if_it_starts_at_a_negative_place() -> None:
    assert parse_index((3, 2), I[0:, FakeTensor(0)])[0] == [("select", 1, 0)]
    assert parse_index((3, 2), I[-3:, FakeTensor(0)])[0] == [("slice", 0, 0, 3, 1), ("select", 1, 0)]
