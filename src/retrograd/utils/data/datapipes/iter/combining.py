"""Data pipes that join several, or give the items of one to several."""
from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Iterator, Sized
from typing import Any

from retrograd.utils.data.datapipes.datapipe import IterDataPipe, check_function, functional_datapipe


class OfSeveral(IterDataPipe):
    """A pipe over several others."""

    datapipes: tuple[Any, ...]

    def lengths(self) -> list[int]:
        if all([isinstance(pipe, Sized) for pipe in self.datapipes]):
            return [len(pipe) for pipe in self.datapipes]
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("concat")
class ConcaterIterDataPipe(OfSeveral):
    """The items of one pipe after those of another."""

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        if not all([isinstance(pipe, IterDataPipe) for pipe in datapipes]):
            raise TypeError("Expected all inputs to be `IterDataPipe`")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self.lengths())


@functional_datapipe("zip")
class ZipperIterDataPipe(OfSeveral):
    """Tuples of one item of every pipe, until one has no more."""

    def __init__(self, *datapipes: Any) -> None:
        if not all([isinstance(pipe, IterDataPipe) for pipe in datapipes]):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(self.lengths())


@functional_datapipe("mux")
class MultiplexerIterDataPipe(OfSeveral):
    """One item of every pipe in turn, until one has no more."""

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for items in zip(*self.datapipes, strict=False):
            yield from items

    def __len__(self) -> int:
        return min(self.lengths()) * len(self.datapipes)


class ChildIterDataPipe(IterDataPipe):
    """One of the pipes that share the items of another; iterations of all of them are one iteration of that."""

    def __init__(self, main: Any, instance_id: int) -> None:
        self.main, self.instance_id = main, instance_id

    def __iter__(self) -> Iterator[Any]:
        return iter(self.main.items_for(self.instance_id))

    def __len__(self) -> int:
        return len(self.main.source)


class Shared:
    """The items of a pipe on their way to several others, which may be ahead of each other by `buffer_size`."""

    name = ""

    def __init__(self, source: Any, count: int, buffer_size: int) -> None:
        if count < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {count} is found")
        if buffer_size == 0:
            raise ValueError(f"`buffer_size` {buffer_size} should not be zero.")
        if buffer_size < 0:
            warnings.warn("Unlimited buffer size is set for `fork`, please be aware of OOM risks", UserWarning, stacklevel=4)
        self.source, self.count, self.buffer_size = source, count, buffer_size
        self.started: set[int] = set()
        self.begin()

    def begin(self) -> None:
        self.items = iter(())
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.count)]
        self.fresh = True

    def items_for(self, number: int) -> Iterator[Any]:
        if number in self.started:           # a second time: all begin again
            self.begin()
            self.started = set()
        self.started.add(number)
        if self.fresh:
            self.items, self.fresh = iter(self.source), False
        own = self.waiting
        while self.waiting is own:
            if own[number]:
                yield own[number].popleft()
                continue
            try:
                item: Any = next(self.items)
            except StopIteration:
                return
            self.hand_out(item)
            if 0 <= self.buffer_size < max([len(queue) for queue in own]):
                raise BufferError(f"{self.name} buffer overflow,buffer size {self.buffer_size} is insufficient.")

    def hand_out(self, item: Any) -> None:
        for queue in self.waiting:
            queue.append(item)


class Copies(Shared):
    """Every item for everyone."""

    name = "ForkerIterDataPipe"


class Sorted(Shared):
    """Every item for the one that a function names."""

    name = "DemultiplexerIterDataPipe"

    def __init__(self, source: Any, count: int, classify: Any, drop_none: bool, buffer_size: int) -> None:
        super().__init__(source, count, buffer_size)
        self.classify, self.drop_none = classify, drop_none

    def hand_out(self, item: Any) -> None:
        place = self.classify(item)
        if place is None and self.drop_none:
            return
        if place is None or not 0 <= place < self.count:
            raise ValueError(f"Output of the classification fn should be between 0 and {self.count - 1}. {place} is returned.")
        self.waiting[place].append(item)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes with the items of one: `a, b = pipe.fork(2)`."""

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: Any = None) -> Any:
        main = Copies(datapipe, num_instances, buffer_size)
        return [ChildIterDataPipe(main, i) for i in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes among which the items of one are divided."""

    def __new__(cls, datapipe: Any, num_instances: int, classifier_fn: Any, drop_none: bool = False,
                buffer_size: int = 1000) -> Any:
        if num_instances >= 1:
            check_function(classifier_fn)
        main = Sorted(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [ChildIterDataPipe(main, i) for i in range(num_instances)]
