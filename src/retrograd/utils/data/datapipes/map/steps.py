"""The steps of data pipes that are looked up by key."""
from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from retrograd.utils.data.datapipes.datapipe import (
    DataChunk,
    MapDataPipe,
    ShufflingPipe,
    check_function,
    functional_datapipe,
)


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The items of a sequence, or of a dict.

    >>> list(SequenceWrapperMapDataPipe([1, 2]))
    [1, 2]
    """

    def __init__(self, sequence: Any, deepcopy: bool = True) -> None:
        self.sequence = copy.deepcopy(sequence) if deepcopy else sequence

    def __getitem__(self, index: Any) -> Any:
        return self.sequence[index]

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """A function of every item."""

    def __init__(self, datapipe: Any, fn: Any = lambda x: x) -> None:
        check_function(fn)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> Any:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """The items of one pipe after those of another."""

    def __init__(self, *datapipes: Any) -> None:
        check_all(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        place = index
        for pipe in self.datapipes:
            if place < len(pipe):
                return pipe[place]
            place -= len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum([len(pipe) for pipe in self.datapipes])


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of the items that several pipes have under one key."""

    def __init__(self, *datapipes: Any) -> None:
        check_all(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index: Any) -> Any:
        made = []
        for pipe in self.datapipes:
            try:
                made.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(made)

    def __len__(self) -> int:
        return min([len(pipe) for pipe in self.datapipes])


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Batches of items."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        first = index * self.batch_size
        return self.wrapper_class([self.datapipe[i] for i in range(first, min(first + self.batch_size, len(self.datapipe)))])

    def __len__(self) -> int:
        return len(self.datapipe) // self.batch_size if self.drop_last else -(-len(self.datapipe) // self.batch_size)


class ShufflerIterDataPipe(ShufflingPipe):
    """The items in random order: a pipe that is gone through."""

    def __init__(self, datapipe: Any, *, indices: Any = None) -> None:
        self.datapipe, self.indices = datapipe, list(range(len(datapipe))) if indices is None else indices

    def __iter__(self) -> Iterator[Any]:
        order = list(self.indices)
        if self._enabled:
            order = self.generator().sample(order, len(order))[::-1]          # PyTorch takes them from the end
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)


def check_all(datapipes: Any) -> None:
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all([isinstance(pipe, MapDataPipe) for pipe in datapipes]):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
