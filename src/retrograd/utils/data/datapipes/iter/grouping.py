"""Data pipes that gather items into batches and groups, or take batches apart."""
from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

from retrograd.utils.data.datapipes.datapipe import DataChunk, IterDataPipe, check_function, functional_datapipe


@functional_datapipe("batch")
class BatcherIterDataPipe(IterDataPipe):
    """Batches of items."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = DataChunk) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size, self.drop_last, self.wrapper_class = datapipe, batch_size, drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        if not isinstance(self.datapipe, Sized):
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return len(self.datapipe) // self.batch_size if self.drop_last else -(-len(self.datapipe) // self.batch_size)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The items of batches, down to a level of nesting; -1 is the deepest."""

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield from self.parts(item, self.unbatch_level)

    def parts(self, item: Any, level: int) -> Iterator[Any]:
        if level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        nested = isinstance(item, (list, DataChunk))
        if level == 0 or level == -1 and not nested:
            yield item
        elif nested:
            for part in item:
                yield from self.parts(part, -1 if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Batches of items of which a function gives the same key."""

    def __init__(self, datapipe: Any, group_key_fn: Any, *, keep_key: bool = False, buffer_size: int = 10000,
                 group_size: int | None = None, guaranteed_group_size: int | None = None,
                 drop_remaining: bool = False) -> None:
        check_function(group_key_fn)
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.buffer_size, self.group_size, self.drop_remaining = buffer_size, group_size, drop_remaining
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (group_size is None or not 0 < guaranteed_group_size <= group_size):
            raise AssertionError("guaranteed_group_size must be > 0 and <= group_size and group_size must be set")
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size

    def __iter__(self) -> Iterator[Any]:
        groups: dict[Any, list[Any]] = {}
        for item in self.datapipe:
            key = self.group_key_fn(item)
            groups.setdefault(key, []).append(item)
            if self.group_size is not None and len(groups[key]) == self.group_size:
                yield self.finished(key, groups.pop(key))
            if sum([len(group) for group in groups.values()]) == self.buffer_size:
                largest = max(groups, key=lambda k: len(groups[k]))
                group = groups.pop(largest)
                if self.guaranteed_group_size is None or len(group) >= self.guaranteed_group_size:
                    yield self.finished(largest, group)
                elif not self.drop_remaining:
                    raise RuntimeError("Failed to group items", str(group))
        for key, group in groups.items():
            yield self.finished(key, group)

    def finished(self, key: Any, group: list[Any]) -> Any:
        return (key, DataChunk(group)) if self.keep_key else DataChunk(group)
