"""Datasets as parts of other classes."""
from __future__ import annotations

import itertools

import retrograd as torch


def test_datasets_call_the_next_constructor() -> None:
    class Counted:
        def __init__(self) -> None:
            self.count = 0

    class Both(torch.utils.data.ConcatDataset, Counted):
        pass

    assert Both([[1, 2], [3]]).count == 0


def test_iterators_take_loaders_of_other_libraries() -> None:
    class Loader:
        """What a library that brings its own loader gives to the iterators: their documented attributes, and no others."""

        def __init__(self, num_workers: int) -> None:
            self.num_workers, self.dataset = num_workers, self
            self._dataset_kind = torch.utils.data.dataloader._DatasetKind.Iterable
            self._index_sampler = itertools.count()
            self._auto_collation = self.drop_last = self.pin_memory = self.persistent_workers = False
            self.pin_memory_device, self.timeout, self.in_order = "", 0, True
            self.prefetch_factor, self.collate_fn = 2, list
            self._IterableDataset_len_called = self.generator = self.worker_init_fn = self.multiprocessing_context = None

        def __iter__(self):
            return iter([[1, 2], [3]])

    dataloader = torch.utils.data.dataloader
    assert list(dataloader._SingleProcessDataLoaderIter(Loader(0))) == [[1, 2], [3]]
    assert list(dataloader._MultiProcessingDataLoaderIter(Loader(1))) == [[1, 2], [3]]
