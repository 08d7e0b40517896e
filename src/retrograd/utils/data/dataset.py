"""Datasets: collections of samples by index or one after the other, and datasets made of others."""
from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import retrograd as torch

__all__ = ["ChainDataset", "ConcatDataset", "Dataset", "IterableDataset", "StackDataset", "Subset", "TensorDataset",
           "random_split"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples that are found by index; subclasses define `__getitem__`, and mostly `__len__`.

    >>> class Squares(Dataset):
    ...     def __getitem__(self, i): return i * i
    ...     def __len__(self): return 10
    >>> (Squares() + Squares())[13]
    9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples that come one after the other; subclasses define `__iter__`.

    >>> class Countdown(IterableDataset):
    ...     def __iter__(self): return iter([3, 2, 1])
    >>> list(Countdown() + Countdown())
    [3, 2, 1, 3, 2, 1]
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:     # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors of the same length: sample i is the tuple of their rows i.

    >>> TensorDataset(torch.tensor([1, 2]), torch.tensor([3, 4]))[1]
    (tensor(2), tensor(4))
    """

    tensors: tuple[Any, ...]

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset[Any]):
    """Datasets side by side: sample i is the tuple (or dict, where they have names) of their samples i.

    >>> StackDataset([1, 2], [3, 4])[1], StackDataset(image=[1, 2], text=["a", "b"])[0]
    ((2, 4), {'image': 1, 'text': 'a'})
    """

    datasets: Any

    def __init__(self, *args: Dataset[Any], **kwargs: Dataset[Any]) -> None:
        if args:
            if kwargs:
                raise ValueError("Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, "
                                 "but both types are given.")
            self._length = len(args[0])     # type: ignore[arg-type]
            self.datasets = args
        elif kwargs:
            self._length = len(next(iter(kwargs.values())))     # type: ignore[arg-type]
            self.datasets = kwargs
        else:
            raise ValueError("At least one dataset should be passed")
        if any(self._length != len(dataset) for dataset in self._parts()):
            raise ValueError("Size mismatch between datasets")

    def _parts(self) -> list[Any]:
        return list(self.datasets.values() if isinstance(self.datasets, dict) else self.datasets)

    def _together(self, values: Sequence[Any]) -> Any:
        return dict(zip(self.datasets, values)) if isinstance(self.datasets, dict) else tuple(values)

    def __getitem__(self, index: Any) -> Any:
        return self._together([dataset[index] for dataset in self._parts()])

    def __getitems__(self, indices: list[Any]) -> list[Any]:
        columns = []
        for dataset in self._parts():
            column = samples_at(dataset, indices)
            if len(column) != len(indices):
                raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}")
            columns.append(column)
        return [self._together(row) for row in zip(*columns)]

    def __len__(self) -> int:
        return self._length


def samples_at(dataset: Any, indices: Iterable[Any]) -> list[Any]:
    """The samples at `indices`, fetched at once where the dataset can."""
    fetch_all = getattr(dataset, "__getitems__", None)
    return fetch_all(indices) if callable(fetch_all) else [dataset[index] for index in indices]


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    >>> joined = ConcatDataset([[1, 2, 3], [4, 5]])
    >>> len(joined), joined[3], joined[-1]
    (5, 4, 5)
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        return list(itertools.accumulate(map(len, sequence)))

    def __init__(self, datasets: Iterable[Any]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self._checked():
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self._checked())

    def _checked(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield dataset


class Subset(Dataset[T_co]):
    """Some samples of a dataset, by their indices.

    >>> Subset("abcdef", [5, 0])[1]
    'a'
    """

    dataset: Any
    indices: Sequence[int]

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        return self.dataset[[self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[T_co]:
        return samples_at(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[int | float], generator: Any = None) -> list[Subset[Any]]:
    """Split a dataset at random into parts of the given sizes, or of given fractions that add up to 1.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.2, 0.1])]
    [7, 2, 1]
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = sizes_of(lengths, len(dataset))
    if sum(lengths) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = torch.randperm(sum(lengths), generator=generator or torch.default_generator).tolist()     # type: ignore[arg-type]
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length:end])       # type: ignore[misc]
            for end, length in zip(ends, lengths)]


def sizes_of(fractions: Sequence[float], total: int) -> list[int]:
    """`total` divided in proportion to `fractions`; what rounding leaves over goes to the first parts, one each."""
    for i, fraction in enumerate(fractions):
        if not 0 <= fraction <= 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    sizes = [math.floor(total * fraction) for fraction in fractions]
    for i in range(total - sum(sizes)):
        sizes[i % len(sizes)] += 1
    for i, size in enumerate(sizes):
        if size == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return sizes


