"""Fetches the samples of one batch and collates them."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd.utils.data.dataset import samples_at


class _BaseDatasetFetcher:
    """What both fetchers know."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        self.dataset, self.auto_collation = dataset, auto_collation
        self.collate_fn, self.drop_last = collate_fn, drop_last

    def fetch(self, possibly_batched_index: Any) -> Any:
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes the next samples; the index only says how many."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[[Any], Any], drop_last: bool) -> None:
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        samples: list[Any] = []
        for _ in possibly_batched_index:
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.ended and self.drop_last and len(samples) < len(possibly_batched_index)):
            raise StopIteration
        return self.collate_fn(samples)


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes the samples at the indices."""

    def fetch(self, possibly_batched_index: Any) -> Any:
        if self.auto_collation:
            return self.collate_fn(samples_at(self.dataset, possibly_batched_index))
        return self.collate_fn(self.dataset[possibly_batched_index])


class _DatasetKind:
    """How samples are found."""

    Map = 0
    Iterable = 1

    @staticmethod
    def create_fetcher(kind: int, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
        make = _MapDatasetFetcher if kind == _DatasetKind.Map else _IterableDatasetFetcher
        return make(dataset, auto_collation, collate_fn, drop_last)
