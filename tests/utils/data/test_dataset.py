"""Datasets: by index, one after the other, and made of others."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils.data import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)


class Countdown(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter([3, 2, 1])

    def __len__(self) -> int:
        return 3


class AtOnce(Dataset[int]):
    """Fetches several samples in one call."""

    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        raise AssertionError("samples are fetched at once")

    def __getitems__(self, indices: list[int]) -> list[int]:
        return [i * 10 for i in indices]


def test_tensor_dataset_gives_rows() -> None:
    data = TensorDataset(torch.arange(3), torch.arange(6).reshape(3, 2))
    assert len(data) == 3 and [part.tolist() for part in data[1]] == [1, [2, 3]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))


def test_concatenation_counts_through_and_from_the_end() -> None:
    data = ConcatDataset([[1, 2, 3], [4, 5]])
    assert [data[i] for i in range(5)] == [1, 2, 3, 4, 5] and data[-5] == 1 and data.cumulative_sizes == [3, 5]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        data[-6]
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        ConcatDataset([Countdown()])


def test_iterable_datasets_are_chained() -> None:
    assert list(Countdown() + Countdown()) == [3, 2, 1, 3, 2, 1] and len(Countdown() + Countdown()) == 6
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(ChainDataset([[1]]))       # type: ignore[list-item]
    with pytest.raises(TypeError, match="abstract"):
        IterableDataset()               # type: ignore[abstract]


def test_stacked_datasets_give_tuples_or_dicts() -> None:
    pairs, named = StackDataset([1, 2], "ab"), StackDataset(x=[1, 2], y="ab")   # type: ignore[arg-type]
    assert pairs[1] == (2, "b") and named[0] == {"x": 1, "y": "a"}
    assert pairs.__getitems__([1, 0]) == [(2, "b"), (1, "a")]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset([1], [1, 2])       # type: ignore[arg-type]


def test_subsets_fetch_at_once_where_the_dataset_can() -> None:
    assert Subset(AtOnce(), [5, 2, 7]).__getitems__([0, 2]) == [50, 70]
    assert Subset("abc", [2, 0])[0] == "c"


def test_random_split_takes_sizes_and_fractions() -> None:
    generator = torch.Generator().manual_seed(0)
    parts = random_split(range(11), [0.5, 0.3, 0.2], generator)
    assert [part.indices for part in parts] == [[10, 0, 4, 3, 5, 8], [2, 1, 9], [7, 6]]     # as PyTorch has it
    assert [len(part) for part in random_split(range(5), [2, 3])] == [2, 3]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal the length of the input dataset!"):
        random_split(range(5), [2, 2])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(5), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(5), [1.0, 0.0])


def test_older_spelling_of_cumulative_sizes_warns() -> None:
    joined: torch.utils.data.ConcatDataset[int] = torch.utils.data.ConcatDataset([range(3), range(2)])  # type: ignore[list-item]
    with pytest.warns(FutureWarning, match="^`cummulative_sizes` attribute is renamed to `cumulative_sizes`"):
        assert joined.cummulative_sizes == [3, 5]
