"""Sorting, selecting and matching in one compiled step give what NumPy gives, also among equal elements and NaN."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.core import lean
from retrograd.ops.elementwise import compare
from retrograd.ops.reduction import sort
from retrograd.ops.shared import along
from retrograd.ops.views import complex as complex_views

DTYPES = [torch.float32, torch.float64, torch.int64, torch.int32, torch.int16, torch.uint8]


def tensors(dtype: Any) -> list[Any]:
    random = np.random.default_rng(3)
    shapes = [(1,), (7,), (3, 5), (4, 1, 6), (2, 3, 70), (5, 40, 3)]
    made = [torch.from_numpy(random.integers(-3, 4, shape)).abs().to(dtype) for shape in shapes]
    if dtype.is_floating_point:
        made[3:] = [-m for m in made[3:]]
        made[2][1, 2] = float("nan")
    return [*made, made[4].transpose(0, 2)]


CHOICES: dict[str, Any] = {
    "sort": lambda x, dim: x.sort(dim),
    "descending": lambda x, dim: x.sort(dim, descending=True),
    "topk": lambda x, dim: x.topk(max(1, x.shape[dim] // 2), dim),
    "least": lambda x, dim: x.topk(1, dim, largest=False),
    "kthvalue": lambda x, dim: x.kthvalue(x.shape[dim] // 2 + 1, dim),
    "median": lambda x, dim: x.median(dim, keepdim=True),
    "nanmedian": lambda x, dim: x.nanmedian(dim),
    "median of all": lambda x, dim: (x.median(),),
    "mode": lambda x, dim: x.mode(dim),
    "aminmax": lambda x, dim: x.aminmax(dim=dim),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_choices(monkeypatch: pytest.MonkeyPatch, name: str, dtype: Any) -> None:
    cases = [(x, dim) for x in tensors(dtype) for dim in range(-1, x.ndim)]
    made = [CHOICES[name](*case) for case in cases]
    monkeypatch.setattr(along, "native", None)
    for case, found in zip(cases, made, strict=True):
        for a, b in zip(found, CHOICES[name](*case), strict=True):
            assert a.dtype == b.dtype and a.stride() == b.stride()
            torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_matches(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    few = torch.tensor([0, 2, 3]).to(dtype)
    calls = [lambda x: torch.isin(x, few), lambda x: torch.isin(x, few, invert=True), lambda x: torch.isin(x, 2),
             lambda x: torch.isin(2, x), lambda x: torch.tensor(x.equal(x.clone())), lambda x: torch.tensor(x.equal(x + 1))]
    made = [call(x) for x in tensors(dtype) for call in calls]
    for module in (sort, compare):
        monkeypatch.setattr(module, "native", None)
    for found, wanted in zip(made, [call(x) for x in tensors(dtype) for call in calls], strict=True):
        assert found.dtype is torch.bool and torch.equal(found, wanted)


def test_expanded_arrays_share_memory_and_cannot_be_written() -> None:
    x = np.arange(6.0).reshape(2, 1, 3)
    for shape in ((2, 1, 3), (2, 4, 3), (5, 2, 4, 3), (5, 2, 1, 3)):
        made, wanted = lean.broadcast_to(x, shape), np.broadcast_to(x, shape)
        assert made.shape == wanted.shape and np.shares_memory(made, x) and not made.flags.writeable
        np.testing.assert_array_equal(made, wanted)
    for shape in ((2, 1), (3, 1, 3), (2, 1, -3)):
        with pytest.raises(ValueError):
            lean.broadcast_to(x, shape)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_complex_numbers_from_their_parts(monkeypatch: pytest.MonkeyPatch, dtype: Any) -> None:
    random = np.random.default_rng(5)
    for shape in ((), (5,), (3, 4), (0, 2)):
        a, b = (torch.from_numpy(random.standard_normal(shape)).to(dtype) for _ in range(2))
        made = torch.complex(a, b), torch.polar(a.abs(), b)
        with monkeypatch.context() as patch:
            patch.setattr(complex_views, "native", None)
            wanted = torch.complex(a, b), torch.polar(a.abs(), b)
        for x, y in zip(made, wanted, strict=True):
            assert x.dtype == y.dtype and x.stride() == y.stride()
            torch.testing.assert_close(x, y, rtol=1e-6, atol=1e-7)


def test_classes_as_ones() -> None:
    for classes in (torch.tensor([0, 3, 1]), torch.tensor([[2], [0]]), torch.tensor(4)):
        for count in (-1, 5, 7):
            made = torch.nn.functional.one_hot(classes, count)
            size = int(classes.max()) + 1 if count == -1 else count
            assert torch.equal(made, classes.unsqueeze(-1).eq(torch.arange(size)).long())
    with pytest.raises(RuntimeError, match="smaller than num_classes"):
        torch.nn.functional.one_hot(torch.tensor([3]), 3)
    with pytest.raises(RuntimeError, match="non-negative"):
        torch.nn.functional.one_hot(torch.tensor([-1]))
