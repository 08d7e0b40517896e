"""What a worker process of the data loader does: seeds itself, then fetches batches until it is told to stop."""
from __future__ import annotations

import os
import queue
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import retrograd as torch
from retrograd.utils.data import graph_settings
from retrograd.utils.data._utils.errors import ExceptionWrapper
from retrograd.utils.data._utils.fetch import _DatasetKind

MP_STATUS_CHECK_INTERVAL = 5.0      # seconds after which a process that waits looks whether the other side still lives
IDLE_CHECK_INTERVAL = 0.5           # the same for a worker without a task, which keeps a loader waiting that shuts down
SMALL = 1 << 16                     # tensors below so many bytes are sent as bytes, others in shared memory


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What `get_worker_info` tells in a worker process."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


class ManagerWatchdog:
    """Tells whether the process that started this one still lives.

    >>> ManagerWatchdog().is_alive()
    True
    """

    def __init__(self) -> None:
        self.manager_pid, self.manager_dead = os.getppid(), False

    def is_alive(self) -> bool:
        self.manager_dead = self.manager_dead or os.getppid() != self.manager_pid
        return not self.manager_dead


class Current:
    """The worker that this process is."""

    info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a DataLoader this process is: its id, the number of workers, its seed and its copy of the dataset.

    >>> get_worker_info()       # None, because the main process is no worker
    """
    return Current.info


@dataclass(frozen=True)
class _IterableDatasetStopIteration:
    """Says that the dataset of a worker is exhausted."""

    worker_id: int


@dataclass(frozen=True)
class _ResumeIteration:
    """Tells a worker to begin another epoch, and the loader that it has done so."""

    seed: int | None = None


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """The seed of NumPy's random numbers in a worker, by the mixing of NumPy's own seed sequences.

    >>> len(_generate_state(5, 0))
    4
    """
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def seeded(dataset: Any, shared_seed: int | None) -> Any:
    """A dataset whose random pipes begin from a seed that all processes share; other datasets have none."""
    if shared_seed is None:
        return dataset
    return graph_settings.apply_random_seed(dataset, torch.Generator().manual_seed(shared_seed))


def _sharding_worker_init_fn(worker_init_fn: Any, world_size: int, rank_id: int, worker_id: int) -> None:
    """In a worker, before `worker_init_fn`: take a share of the items of pipes that are to be shared."""
    info = get_worker_info()
    if info is None:
        raise AssertionError("a share is taken in workers of a DataLoader only")
    graph_settings.apply_sharding(info.dataset, info.num_workers * world_size, worker_id * world_size + rank_id)
    if worker_init_fn is not None:
        worker_init_fn(worker_id)


def _worker_loop(dataset_kind: int, dataset: Any, index_queue: Any, data_queue: Any, done_event: Any, auto_collation: bool,
                 collate_fn: Callable[[Any], Any], drop_last: bool, base_seed: int, init_fn: Callable[[int], Any] | None,
                 worker_id: int, num_workers: int, shared_seed: int | None = None) -> None:
    try:
        torch.set_num_threads(1)
        torch.multiprocessing.reductions.Sending.by_value_below = SMALL
        seed = base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(_generate_state(base_seed, worker_id))
        dataset = seeded(dataset, shared_seed)
        Current.info = WorkerInfo(worker_id, num_workers, seed, dataset)
        fetcher: Any = None
        failed: ExceptionWrapper | None = None
        try:
            if init_fn is not None:
                init_fn(worker_id)
            fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, auto_collation, collate_fn, drop_last)
        except Exception:
            failed = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
        watchdog = ManagerWatchdog()
        exhausted = False
        while watchdog.is_alive():
            try:
                task = index_queue.get(timeout=IDLE_CHECK_INTERVAL)
            except queue.Empty:
                if done_event.is_set():
                    break
                continue
            if isinstance(task, _ResumeIteration):
                data_queue.put((task, None))
                exhausted = False
                dataset = seeded(dataset, task.seed)
                fetcher = _DatasetKind.create_fetcher(dataset_kind, dataset, auto_collation, collate_fn, drop_last)
                continue
            if task is None or done_event.is_set():
                break
            if exhausted:
                continue        # it was asked before the loader knew
            number, index = task
            if failed is not None:
                data: Any = failed
                failed = None
            else:
                try:
                    data = fetcher.fetch(index)
                except Exception as error:
                    if isinstance(error, StopIteration) and dataset_kind == _DatasetKind.Iterable:
                        data = _IterableDatasetStopIteration(worker_id)
                        exhausted = True
                    else:
                        data = ExceptionWrapper(where=f"in DataLoader worker process {worker_id}")
            data_queue.put((number, data))
            del data, number, index, task       # so that it does not live until the next batch
    except KeyboardInterrupt:
        pass        # the main process has got it too, and tells the user
    if done_event.is_set():
        data_queue.cancel_join_thread()
        data_queue.close()
