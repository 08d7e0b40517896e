"""One pass over a DataLoader: in this process, or with worker processes that fetch batches ahead."""
from __future__ import annotations

import atexit
import functools
import itertools
import multiprocessing.connection
import queue
import time
import warnings
import weakref
from typing import Any, Self

import retrograd as torch
from retrograd.utils.data import graph_settings
from retrograd.utils.data._utils import pin_memory
from retrograd.utils.data._utils.errors import ExceptionWrapper
from retrograd.utils.data._utils.fetch import _DatasetKind
from retrograd.utils.data._utils.worker import (
    MP_STATUS_CHECK_INTERVAL,
    _IterableDatasetStopIteration,
    _ResumeIteration,
    _sharding_worker_init_fn,
    _worker_loop,
    seeded,
)
from retrograd.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

NO_ACCELERATOR = ("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.")


def processes_work_together() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()


class _BaseDataLoaderIter:
    """What both ways have in common: the indices that come next, and counting what was given out."""

    def __init__(self, loader: Any) -> None:
        self._dataset = loader.dataset
        self._dataset_kind = loader._dataset_kind
        self._is_iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._persistent_workers = loader.persistent_workers
        self._collate_fn = loader.collate_fn
        self._timeout = loader.timeout
        self._pin_memory_device = loader.pin_memory_device or None
        self._pin_memory = loader.pin_memory and torch.accelerator.is_available()
        if loader.pin_memory and not self._pin_memory:
            warnings.warn(NO_ACCELERATOR, stacklevel=4)
        self._world_size, self._rank = 1, 0
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)) and processes_work_together():
            self._world_size, self._rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
        self._seed_pipes(loader)
        self._base_seed = int(torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item())
        self._profile_name = f"enumerate(DataLoader)#{type(self).__name__}.__next__"
        self._start(loader)

    def _seed_pipes(self, loader: Any) -> None:
        """Give the pipes of this pass a seed, the same in all processes that work together."""
        self._shared_seed: int | None = None
        if isinstance(self._dataset, IterDataPipe):
            seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator)
            if processes_work_together():
                torch.distributed.broadcast(seed, 0)
            self._shared_seed = int(seed.item())
            self._dataset = seeded(self._dataset, self._shared_seed)

    def _start(self, loader: Any) -> None:
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._start(loader)
        self._seed_pipes(loader)

    def __iter__(self) -> Self:
        return self

    def _next_index(self) -> Any:
        return next(self._sampler_iter)

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        with torch.autograd.profiler.record_function(self._profile_name):
            data = self._next_data()
        self._num_yielded += 1
        reported = self._IterableDataset_len_called
        if self._is_iterable and reported is not None and self._num_yielded > reported:
            warnings.warn(
                f"Length of IterableDataset {self._dataset} was reported to be {reported}(when accessing len(dataloader)), but "
                f"{self._num_yielded} samples have been fetched. " + (
                    "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset "
                    "replica at each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data."
                    "IterableDataset for examples." if self._num_workers else ""), stacklevel=2)
        return data

    next = __next__

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __getstate__(self) -> Any:
        raise NotImplementedError("{} cannot be pickled", self.__class__.__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Fetches each batch when it is asked for."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            graph_settings.apply_sharding(self._dataset, self._world_size, self._rank)
        self._dataset_fetcher = _DatasetKind.create_fetcher(
            self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last)

    def _next_data(self) -> Any:
        data = self._dataset_fetcher.fetch(self._next_index())
        return pin_memory.pin_memory(data) if self._pin_memory else data


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Keeps `prefetch_factor` batches per worker under way and gives them out in the order of their indices.

    Every task has a number. A worker gets its tasks through a queue of its own; all results come back through one queue, and
    one that comes before its turn waits in `_arrived`. A worker whose iterable dataset is exhausted gets no more tasks.
    """

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        self._in_order = loader.in_order
        self._worker_init_fn = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            self._worker_init_fn = functools.partial(_sharding_worker_init_fn, self._worker_init_fn, self._world_size,
                                                     self._rank)
        self._shutdown = False
        self._workers: list[Any] = []
        self._index_queues: list[Any] = []
        context = loader.multiprocessing_context or torch.multiprocessing.get_context()
        self._results = context.Queue()
        self._done_event = context.Event()
        for worker_id in range(self._num_workers):
            tasks = context.Queue()
            worker = context.Process(target=_worker_loop, daemon=True, args=(
                self._dataset_kind, self._dataset, tasks, self._results, self._done_event, self._auto_collation,
                self._collate_fn, self._drop_last, self._base_seed, self._worker_init_fn, worker_id, self._num_workers,
                self._shared_seed))
            worker.start()
            self._index_queues.append(tasks)
            self._workers.append(worker)
        running.add(self)
        self._seed_pipes(loader)        # the workers have theirs; PyTorch draws one more
        self._begin()

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        """Begin another epoch with the workers that are there."""
        super()._reset(loader, first_iter)
        resumed = 0
        for tasks in self._index_queues:
            tasks.put(_ResumeIteration(self._shared_seed))
        while resumed < self._num_workers:      # results of an epoch that was left early come before
            number, _ = self._get_data()
            resumed += isinstance(number, _ResumeIteration)
        self._begin()

    def _begin(self) -> None:
        self._sent = 0                                  # how many tasks were handed out
        self._next = 0                                  # the number of the task whose result is given out next
        self._assigned: dict[int, int] = {}             # the worker of each task that is under way
        self._arrived: dict[int, Any] = {}
        self._active = [True] * self._num_workers
        self._turn = itertools.cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._hand_out()

    def _hand_out(self) -> None:
        """Give the next indices to the next worker that can take them."""
        under_way = list(self._assigned.values())
        for _ in range(self._num_workers):
            worker = next(self._turn)
            if self._active[worker] and (self._in_order or under_way.count(worker) < self._prefetch_factor):
                break
        else:
            return
        try:
            index = self._next_index()
        except StopIteration:
            return
        self._index_queues[worker].put((self._sent, index))
        self._assigned[self._sent] = worker
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            # tasks of workers that ran dry have no result
            while self._next < self._sent and self._next not in self._arrived and not (
                    self._next in self._assigned and self._active[self._assigned[self._next]]):
                self._assigned.pop(self._next, None)
                self._next += 1
            if self._next >= self._sent:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._next in self._arrived:
                data = self._arrived.pop(self._next)
                self._next += 1
                return self._give_out(data)
            number, data = self._get_data()
            if isinstance(data, _IterableDatasetStopIteration):
                self._active[data.worker_id] = False
                self._assigned.pop(number, None)
                if not self._persistent_workers:
                    self._index_queues[data.worker_id].put(None)
                self._hand_out()
                continue
            self._assigned.pop(number)
            if number == self._next:
                self._next += 1
                return self._give_out(data)
            if not self._in_order:
                return self._give_out(data)
            self._arrived[number] = data

    def _give_out(self, data: Any) -> Any:
        self._hand_out()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return pin_memory.pin_memory(data) if self._pin_memory else data

    def _get_data(self) -> Any:
        """The next result that any worker sends; an error when they die or take too long."""
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            wait = MP_STATUS_CHECK_INTERVAL if deadline is None else max(0.0, deadline - time.monotonic())
            watched = [worker.sentinel for worker, active in zip(self._workers, self._active_workers()) if active]
            ready = multiprocessing.connection.wait([self._results._reader, *watched], wait)
            if self._results._reader in ready:
                try:
                    return self._results.get(timeout=MP_STATUS_CHECK_INTERVAL)
                except queue.Empty:
                    continue
            if ready:
                died = [str(worker.pid) for worker in self._workers if worker.sentinel in ready]
                self._shutdown_workers()
                raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(died)}) exited unexpectedly")
            if deadline is not None and time.monotonic() >= deadline:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")

    def _active_workers(self) -> list[bool]:
        return getattr(self, "_active", [True] * len(self._workers))

    def _shutdown_workers(self) -> None:
        """Tell the workers to stop, and end those that do not."""
        if self._shutdown:
            return
        self._shutdown = True
        running.discard(self)
        self._done_event.set()
        for tasks in self._index_queues:
            tasks.put(None)
        for worker in self._workers:
            worker.join(timeout=MP_STATUS_CHECK_INTERVAL)
            if worker.is_alive():
                worker.terminate()
        for tasks in [*self._index_queues, self._results]:
            tasks.cancel_join_thread()
            tasks.close()

    def __del__(self) -> None:
        if hasattr(self, "_results"):
            self._shutdown_workers()


running: weakref.WeakSet[_MultiProcessingDataLoaderIter] = weakref.WeakSet()


@atexit.register
def stop_workers() -> None:
    """At the end of the program, before the modules that shutting down needs are gone."""
    for iterator in list(running):
        iterator._shutdown_workers()
