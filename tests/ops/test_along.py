"""Positions, masks and order along a dimension: against NumPy, for all dtypes, layouts and sizes, compiled or not."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.ops.reduction import selection
from retrograd.ops.shared import along

DTYPES = ("?", "b", "B", "h", "i", "q", "f", "d", "F", "D", "e")
SHAPES = ((5,), (4, 3), (2, 3, 4), (0,), (3, 0), (0, 3), (1, 1), (70,))


@pytest.fixture(params=["as built", "with NumPy"], autouse=True)
def way(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "with NumPy":
        monkeypatch.setattr(along, "native", None)


def numbers(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Any:
    source = np.random.default_rng(seed)
    made = source.integers(0, 2 if dtype == "?" else 9, shape).astype(dtype)
    if dtype in "fd" and made.size > 2:
        made.reshape(-1)[:3] = np.nan, -0.0, -np.inf
    return made


def layouts(a: Any) -> list[Any]:
    wide = np.zeros((*a.shape, 2), a.dtype)
    wide[..., 0] = a
    return [a, np.asfortranarray(a), wide[..., 0]]


def same(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_taken_along_any_dimension(dtype: str) -> None:
    for shape in SHAPES:
        for axis in range(len(shape)):
            count = 0 if shape[axis] == 0 else 6
            index = np.random.default_rng(1).integers(0, max(shape[axis], 1), [*shape[:axis], count, *shape[axis + 1:]])
            for x in layouts(numbers(dtype, shape)):
                same(along.take_along(x, index, axis), np.take_along_axis(x, index, axis))
                same(along.take_along(x, index.astype(np.int32), axis), np.take_along_axis(x, index, axis))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["=", "+", "*", ">", "<"])
def test_elements_are_put_along_any_dimension(dtype: str, how: str) -> None:
    for shape in SHAPES:
        for axis in range(len(shape)):
            count = 0 if shape[axis] == 0 else 6
            index = np.random.default_rng(1).integers(0, max(shape[axis], 1), [*shape[:axis], count, *shape[axis + 1:]])
            source = numbers(dtype, index.shape, 2)
            for values in (*layouts(source), source.reshape(-1)[:1].reshape(()) if source.size else source):
                x = numbers(dtype, shape)
                wanted = x.copy()
                places = list(np.indices(index.shape, sparse=True))
                places[axis] = index
                if how == "=":
                    wanted[tuple(places)] = values
                else:
                    along.UFUNCS[how].at(wanted, tuple(places), values)
                if along.put_elements(x, index, values, axis, how):
                    same(x, wanted)
                else:
                    same(x, numbers(dtype, shape))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["=", "+", "*", ">", "<"])
def test_rows_are_put_along_any_dimension(dtype: str, how: str) -> None:
    for shape in SHAPES:
        for axis in range(len(shape)):
            index = np.random.default_rng(1).integers(0, max(shape[axis], 1), 0 if shape[axis] == 0 else 6)
            for source in layouts(numbers(dtype, (*shape[:axis], len(index), *shape[axis + 1:]), 2)):
                x = numbers(dtype, shape)
                wanted = x.copy()
                places = (*[slice(None)] * axis, index)
                if how == "=":
                    wanted[places] = source
                else:
                    along.UFUNCS[how].at(wanted, places, source)
                if along.put_rows(x, index, source, axis, how):
                    same(x, wanted)
                else:
                    same(x, numbers(dtype, shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_taken_along_any_dimension(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along, "SMALL", 0)
    for shape in SHAPES:
        for axis in range(len(shape)):
            size = shape[axis]
            for count in ((0,), (0, 2)) if size == 0 else ((6,), (2, 3), (), (0,)):
                index = np.random.default_rng(1).integers(-size, max(size, 1), count)
                for x in layouts(numbers(dtype, shape)):
                    same(np.asarray(along.take_rows(x, index, axis)), np.asarray(x.take(index, axis)))
            for wrong in (-size - 1, size) if 0 not in shape else ():
                with pytest.raises(IndexError):
                    along.take_rows(numbers(dtype, shape), np.array([wrong]), axis)


def test_many_rows_are_taken_in_pieces() -> None:
    x = np.random.default_rng(0).random((3, 500, 40))
    index = np.random.default_rng(1).integers(-500, 500, 3000)
    same(along.take_rows(x, index, 1), x.take(index, 1))


def test_positions_out_of_range_change_nothing() -> None:
    for wrong in (-1, 3):
        x = np.zeros(3, np.float32)
        assert along.take_elements(x, np.array([0, wrong]), 0) is None
        assert not along.put_elements(x.copy(), np.array([0, wrong]), np.ones(2, np.float32), 0, "+")
        assert not along.put_rows(x, np.array([0, wrong]), np.ones(2, np.float32), 0, "+")
        assert not x.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_masks_keep_mark_and_put(dtype: str) -> None:
    for shape in SHAPES:
        for x in layouts(numbers(dtype, shape)):
            for rank in range(1, len(shape) + 1):
                mask = np.random.default_rng(3).random(shape[:rank]) < 0.5
                same(along.keep(x, mask), x[mask])
            same(along.nonzero(x), np.stack(np.nonzero(x)))
            mask = np.random.default_rng(3).random(shape) < 0.5
            values = numbers(dtype, (int(mask.sum()),), 4)
            made, wanted = x.copy(), x.copy()
            along.put_masked(made, mask, values)
            wanted[mask] = values
            same(made, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_is_stable_with_nan_last(dtype: str) -> None:
    if dtype in "FD":
        return
    for shape in (*SHAPES, (3, 300), (1000,)):
        for x in layouts(numbers(dtype, shape)):
            same(along.order_rows(x), np.argsort(x, -1, kind="stable"))
            down = along.order_rows(x, True)
            key = np.where(np.isnan(x), 100, x).astype(float) if dtype in "fde" else x.astype(float)
            same(down, np.argsort(-key, -1, kind="stable"))


@pytest.mark.parametrize("dtype", ["f", "d", "q", "i", "h", "B"])
def test_selection_takes_the_steps_of_the_reference(dtype: str) -> None:
    for n in (1, 2, 5, 17, 40, 200):
        x = numbers(dtype, (3, n))
        for k in {1, (n + 1) // 2, n}:
            for largest in (False, True):
                found = along.select_rows(x, "t", k, largest, True)
                if found is None:
                    continue
                for row in range(3):
                    values = x[row].tolist()
                    before = selection.descending(values) if largest else selection.ascending(values)
                    places = list(range(n))
                    if k * 64 <= n:
                        selection.partial_sort(places, k, before)
                    else:
                        selection.nth_element(places, k - 1, before)
                        selection.sort(places, k - 1, before)
                    assert found[row].tolist() == places[:k]
            one = along.select_rows(x, "k", k - 1)
            if one is not None:
                assert one[:, 0].tolist() == [selection.quickselect(r.tolist(), k - 1) for r in x]


@pytest.mark.parametrize("dtype", ["f", "d", "q", "i", "h"])
def test_searching_finds_where_to_insert(dtype: str) -> None:
    bounds, x = np.sort(numbers(dtype, (2, 7))), numbers(dtype, (2, 5), 1)
    def place(row: Any, value: Any, right: bool) -> int:
        """The first that is not less (or greater), so that NaN, which is neither, is passed as in PyTorch."""
        return next((i for i, bound in enumerate(row) if (bound > value if right else bound >= value)), len(row))

    for right in (False, True):
        same(along.search_rows(bounds[0], x, right), np.array([[place(bounds[0], v, right) for v in r] for r in x]))
        each = [[place(b, v, right) for v in r] for b, r in zip(bounds, x, strict=True)]
        same(along.search_rows(bounds, x, right), np.array(each))
        assert along.search_rows(bounds[0][:0], x, right).tolist() == [[0] * 5] * 2
        same(along.search_rows(bounds[0], x[1, 2], right), np.array(place(bounds[0], x[1, 2], right)))


def test_ops_agree_on_views_that_are_not_contiguous() -> None:
    x = torch.arange(12.0).reshape(3, 4).t()
    index = torch.tensor([[2, 0, 1], [1, 1, 1], [0, 2, 2], [0, 0, 0]])
    assert x.gather(1, index)[0].tolist() == [8.0, 0.0, 4.0]
    assert x.scatter_add(1, index, torch.ones(4, 3))[1].tolist() == [1.0, 8.0, 9.0]
    assert x[x > 8].tolist() == [9.0, 10.0, 11.0]
    assert torch.unique(torch.tensor([3, 1, 3, 2]), return_inverse=True, return_counts=True)[1].tolist() == [2, 0, 2, 1]
