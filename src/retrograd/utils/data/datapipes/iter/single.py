"""Data pipes that change, choose or reorder the items of one other."""
from __future__ import annotations

import copy
from collections.abc import Iterator, Sized
from typing import Any

from retrograd.utils.data._utils.collate import default_collate
from retrograd.utils.data.datapipes.datapipe import IterDataPipe, ShufflingPipe, check_function, functional_datapipe
from retrograd.utils.data.sampler import SequentialSampler


class OfOne(IterDataPipe):
    """A pipe that has as many items as the one before it."""

    datapipe: Any

    def __len__(self) -> int:
        if isinstance(self.datapipe, Sized):
            return len(self.datapipe)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


class IterableWrapperIterDataPipe(IterDataPipe):
    """The items of an iterable, of which every iteration sees a copy.

    >>> list(IterableWrapperIterDataPipe([1, 2]))
    [1, 2]
    """

    def __init__(self, iterable: Any, deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator[Any]:
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:               # generators cannot be copied
                pass
        yield from source

    def __len__(self) -> int:
        if isinstance(self.iterable, Sized):
            return len(self.iterable)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("map")
class MapperIterDataPipe(OfOne):
    """A function of every item, or of some columns of it."""

    def __init__(self, datapipe: Any, fn: Any, input_col: Any = None, output_col: Any = None) -> None:
        check_function(fn)
        self.datapipe, self.fn, self.input_col = datapipe, fn, input_col
        if input_col is None and output_col is not None:
            raise ValueError("`output_col` must be None when `input_col` is None.")
        if isinstance(output_col, (list, tuple)):
            if len(output_col) > 1:
                raise ValueError("`output_col` must be a single-element list or tuple")
            output_col = output_col[0]
        self.output_col = output_col

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield self.applied(item)

    def applied(self, item: Any) -> Any:
        if self.input_col is None:
            return self.fn(item)
        several = isinstance(self.input_col, (list, tuple))
        made = self.fn(*[item[c] for c in self.input_col]) if several else self.fn(item[self.input_col])
        changed = list(item) if isinstance(item, tuple) else copy.copy(item)
        if self.output_col == -1:
            changed.append(made)
        elif self.output_col is not None:
            changed[self.output_col] = made
        elif several:
            changed[self.input_col[0]] = made
            for c in sorted(self.input_col[1:], reverse=True):
                del changed[c]
        else:
            changed[self.input_col] = made
        return tuple(changed) if isinstance(item, tuple) else changed


@functional_datapipe("collate")
class CollatorIterDataPipe(MapperIterDataPipe):
    """Batches of items made into tensors."""

    def __init__(self, datapipe: Any, conversion: Any = default_collate, collate_fn: Any = None) -> None:
        super().__init__(datapipe, conversion if collate_fn is None else collate_fn)


@functional_datapipe("filter")
class FilterIterDataPipe(IterDataPipe):
    """The items of which a function is true."""

    def __init__(self, datapipe: Any, filter_fn: Any, input_col: Any = None) -> None:
        check_function(filter_fn)
        self.datapipe, self.filter_fn, self.input_col = datapipe, filter_fn, input_col

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            if self.input_col is None:
                kept = self.filter_fn(item)
            elif isinstance(self.input_col, (list, tuple)):
                kept = self.filter_fn(*[item[c] for c in self.input_col])
            else:
                kept = self.filter_fn(item[self.input_col])
            if not isinstance(kept, bool):
                raise ValueError("Boolean output is required for `filter_fn` of FilterIterDataPipe, got", type(kept))
            if kept:
                yield item


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(ShufflingPipe, OfOne):
    """The items in random order, as far as a buffer reaches."""

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size = buffer_size

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        draw = self.generator()
        waiting: list[Any] = []
        for item in self.datapipe:
            if len(waiting) == self.buffer_size:
                place = draw.randint(0, len(waiting) - 1)
                yield waiting[place]
                waiting[place] = item
            else:
                waiting.append(item)
        while waiting:
            yield waiting.pop(draw.randint(0, len(waiting) - 1))


class SamplerIterDataPipe(OfOne):
    """What a sampler makes of a pipe."""

    def __init__(self, datapipe: Any, sampler: Any = SequentialSampler, sampler_args: Any = None,
                 sampler_kwargs: Any = None) -> None:
        self.datapipe = datapipe
        self.sampler = sampler(*(sampler_args or ()), data_source=datapipe, **(sampler_kwargs or {}))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(OfOne):
    """Every n-th item, where n processes share the work."""

    def __init__(self, source_datapipe: Any, sharding_group_filter: Any = None) -> None:
        self.datapipe, self.num_of_instances, self.instance_id = source_datapipe, 1, 0

    def apply_sharding(self, num_of_instances: int, instance_id: int, sharding_group: Any = None) -> None:
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        self.num_of_instances, self.instance_id = num_of_instances, instance_id

    def __iter__(self) -> Iterator[Any]:
        for i, item in enumerate(self.datapipe):
            if i % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        whole = super().__len__()
        return whole // self.num_of_instances + (self.instance_id < whole % self.num_of_instances)
