"""Samples become batches: numbers and arrays become tensors, containers keep their structure."""
from __future__ import annotations

from collections import OrderedDict, UserList, namedtuple
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils.data import default_collate, default_convert

Point = namedtuple("Point", "x y")


def test_numbers_take_pytorchs_dtypes() -> None:
    assert default_collate([1, 2]).dtype is torch.int64 and default_collate([1.0, 2.0]).dtype is torch.float64
    assert default_collate([True, False]).dtype is torch.bool
    assert default_collate([np.float32(1), np.float32(2)]).dtype is torch.float32
    assert default_collate([np.ones(2, np.int16)] * 3).shape == (3, 2)
    assert default_collate([torch.ones(2), torch.zeros(2)]).tolist() == [[1, 1], [0, 0]]


def test_containers_keep_their_structure() -> None:
    batch = default_collate([{"a": 1, "b": [1.0, 2.0], "c": ("x", 2)}, {"a": 3, "b": [3.0, 4.0], "c": ("y", 4)}])
    assert batch["a"].tolist() == [1, 3] and [part.tolist() for part in batch["b"]] == [[1, 3], [2, 4]]
    assert batch["c"][0] == ("x", "y") and isinstance(batch["c"], list)
    point = default_collate([Point(1, 2), Point(3, 4)])
    assert isinstance(point, Point) and point.y.tolist() == [2, 4]
    assert isinstance(default_collate([OrderedDict(a=1)] * 2), OrderedDict)
    assert isinstance(default_collate([UserList([1, 2])] * 2), UserList)
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]


@pytest.mark.parametrize(("batch", "error", "message"), [
    ([None], TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists; found <class 'None"),
    ([np.array(["a"])], TypeError, "found <U1"),
    ([[1, 2], [1]], RuntimeError, "each element in list of batch should be of equal size"),
    ([torch.ones(2).to_sparse()], RuntimeError, "Batches of sparse tensors are not currently supported"),
])
def test_what_cannot_be_batched_is_named(batch: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        default_collate(batch)


def test_conversion_leaves_python_values() -> None:
    made = default_convert([Point(1, np.ones(1)), (1, np.int64(2)), {"a": np.array(["s"])}])
    assert isinstance(made[0], Point) and made[0].x == 1 and isinstance(made[0].y, torch.Tensor)
    assert made[1][0] == 1 and isinstance(made[1][1], torch.Tensor) and isinstance(made[2]["a"], np.ndarray)
