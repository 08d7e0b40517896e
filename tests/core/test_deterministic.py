"""Deterministic mode: filled memory, and ops that are refused."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import retrograd as torch
from retrograd.utils import deterministic


@pytest.fixture(autouse=True)
def asked() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    deterministic.fill_uninitialized_memory = True  # type: ignore[attr-defined]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.int8,
                                   torch.int64, torch.uint8, torch.uint16, torch.bool])
def test_uninitialised_memory_is_filled(dtype) -> None:
    x = torch.ones(2, 3, dtype=dtype)
    made = [torch.empty(2, 3, dtype=dtype), torch.empty_like(x), torch.empty_like(x.t()), x.new_empty(4),
            x.new_empty_strided((2, 2), (4, 1)), torch.empty_strided((2, 3), (1, 2), dtype=dtype),
            torch.empty_permuted((2, 2), (1, 0), dtype=dtype), torch.empty(0, dtype=dtype).resize_(3),
            torch.empty(1, 2, 2, 2, dtype=dtype, memory_format=torch.channels_last)]
    for t in made:
        if dtype.is_floating_point or dtype.is_complex:
            assert t.isnan().all()
        else:
            assert (t == (True if dtype is torch.bool else torch.iinfo(dtype).max)).all()


def test_resize_fills_what_it_adds_alone() -> None:
    x = torch.arange(4.0)[1:3].resize_(5)
    assert x[:3].tolist() == [1, 2, 3] and x[3:].isnan().all()
    assert torch.arange(4.0).resize_(2).resize_(4).tolist() == [0, 1, 2, 3]


def test_filling_can_be_turned_off() -> None:
    deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    assert deterministic.fill_uninitialized_memory is False
    assert torch.arange(4.0)[:0].resize_(2).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="^expected a bool, but got int"):
        deterministic.fill_uninitialized_memory = 3  # type: ignore[attr-defined]


def test_ops_without_a_deterministic_form_in_pytorch_are_refused_or_warned_of() -> None:
    index, source = torch.tensor([0]), torch.ones(1)
    calls = [lambda: torch.zeros(2).put_(index, source), lambda: torch.zeros(2).put(index, source),
             lambda: torch.nn.functional.max_unpool2d(torch.ones(1, 1, 1, 1), torch.zeros(1, 1, 1, 1, dtype=torch.int64), 2)]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"does not have a deterministic implementation, but you set 'torch\.use_det"):
            call()
    assert torch.zeros(2).put_(index, source, accumulate=True).tolist() == [1, 0]
    torch.use_deterministic_algorithms(True, warn_only=True)
    for call in calls:
        with pytest.warns(UserWarning, match=r"use_deterministic_algorithms\(True, warn_only=True\)'"):
            call()
    with pytest.raises(TypeError, match="argument 'warn_only' must be bool, not int"):
        torch.use_deterministic_algorithms(True, warn_only=1)  # type: ignore[arg-type]
