"""The loader: batches, orders and seeds as in PyTorch; workers that fail, take too long, die, or outlive a pass."""
from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

# A machine with one processor warns of two workers; Python warns of forks beside threads that others left.
pytestmark = [pytest.mark.filterwarnings("ignore:This DataLoader will create"),
              pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")]
SOURCE = str(Path(torch.__file__ or "").resolve().parent.parent)


class Draws(Dataset[Any]):
    """What every sample draws, and who drew it."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        info = get_worker_info()
        assert info is not None
        return i, info.id, info.seed, random.random(), torch.rand(()).item(), int(np.random.randint(1 << 30))


class Shares(IterableDataset[int]):
    def __iter__(self) -> Any:
        info = get_worker_info()
        assert info is not None
        return iter(range(info.id * 10, info.id * 10 + 3 + 2 * info.id))


class Fails(Draws):
    def __init__(self, error: Any) -> None:
        self.error = error

    def __getitem__(self, i: int) -> Any:
        if i == 3:
            raise self.error
        return i


class Odd(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


class Dies(Draws):
    def __getitem__(self, i: int) -> Any:
        os._exit(3)


class Sleeps(Draws):
    def __getitem__(self, i: int) -> Any:
        time.sleep(60)


def fail_at_start(worker: int) -> None:
    raise ValueError("at the start")


def test_shuffled_order_is_pytorchs() -> None:
    torch.manual_seed(0)
    assert [b.tolist() for b in DataLoader(range(7), batch_size=3, shuffle=True)] == [[0, 4, 1], [5, 2, 6], [3]]
    assert torch.rand(1).item() == 0.30742281675338745
    loader = DataLoader(range(7), batch_size=3, shuffle=True, generator=torch.Generator().manual_seed(3))
    assert [b.tolist() for b in loader] == [[3, 4, 2], [0, 1, 6], [5]]
    assert torch.rand(1).item() == 0.6340786814689636


def test_workers_are_seeded_as_pytorchs() -> None:
    torch.manual_seed(5)
    assert list(DataLoader(Draws(), num_workers=2, batch_size=None, shuffle=True)) == [
        [0, 0, 4095051218741643470, 0.9732059885921714, 0.7106006741523743, 1010389604],
        [3, 1, 4095051218741643471, 0.7347412016282042, 0.2905186414718628, 346721090],
        [2, 0, 4095051218741643470, 0.09916814881074121, 0.34830594062805176, 315107434],
        [1, 1, 4095051218741643471, 0.421098279900221, 0.5857152342796326, 738661472]]
    assert torch.rand(1).item() == 0.9201034307479858


def test_iterable_datasets_are_drained_worker_by_worker() -> None:
    batches = [[0, 1], [10, 11], [2], [12, 13], [14]]
    assert [b.tolist() for b in DataLoader(Shares(), num_workers=2, batch_size=2)] == batches
    loader = DataLoader(Shares(), num_workers=2, batch_size=2, persistent_workers=True)
    assert [[b.tolist() for b in loader] for _ in range(2)] == [batches, batches]


def test_persistent_workers_stay_and_a_pass_can_be_left_early() -> None:
    loader = DataLoader(range(20), num_workers=2, batch_size=2, persistent_workers=True)
    next(iter(loader))
    workers = [worker.pid for worker in loader._iterator._workers]       # type: ignore[union-attr]
    assert [b.tolist() for b in loader] == [[i, i + 1] for i in range(0, 20, 2)]
    assert [worker.pid for worker in loader._iterator._workers] == workers      # type: ignore[union-attr]


def test_large_batches_come_in_shared_memory_with_their_values() -> None:
    data = TensorDataset(torch.arange(200_000.0).reshape(4, -1), torch.arange(4))
    (rows, numbers), *rest = list(DataLoader(data, batch_size=2, num_workers=1))
    assert rows.is_shared() and torch.equal(rows, data.tensors[0][:2]) and numbers.tolist() == [0, 1] and len(rest) == 1
    rows[0] = 0
    assert data.tensors[0][0, 1] == 1


@pytest.mark.parametrize(("error", "kind"), [(KeyError("no 3"), KeyError), (ValueError("no 3"), ValueError),
                                             (Odd(1, 2), RuntimeError)])
def test_errors_of_workers_carry_their_traceback(error: Any, kind: Any) -> None:
    with pytest.raises(kind) as caught:
        list(DataLoader(Fails(error), num_workers=2))
    text = str(caught.value)
    assert text.startswith(f"Caught {type(error).__name__} in DataLoader worker process 1.\nOriginal Traceback (most recent")
    assert "raise self.error" in text


def test_error_at_the_start_of_a_worker_is_raised() -> None:
    with pytest.raises(ValueError, match="at the start"):
        list(DataLoader(range(4), num_workers=1, worker_init_fn=fail_at_start))


def test_dead_and_slow_workers_are_noticed() -> None:
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        next(iter(DataLoader(Dies(), num_workers=1)))
    iterator = iter(DataLoader(Sleeps(), num_workers=1, timeout=0.1))
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.1 seconds"):
        next(iterator)
    iterator._workers[0].kill()         # type: ignore[attr-defined]


PROGRAM = """
import torch
from torch.utils.data import DataLoader

class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, i):
        return torch.tensor(i * i)

class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            yield torch.ones(3)

if __name__ == "__main__":
    print([b.tolist() for b in DataLoader(Squares(), batch_size=2, num_workers=1, multiprocessing_context="spawn")])
    batches = iter(DataLoader(Endless(), num_workers=2))
    next(batches)
    print(*[worker.pid for worker in batches._workers], flush=True)
    for batch in batches:
        pass
"""


def test_spawned_workers_and_a_clean_end_on_interrupt(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    program = subprocess.Popen([sys.executable, "-W", "ignore", "-m", "retrograd", "run", str(script)], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                               env=os.environ | {"PYTHONPATH": SOURCE},
                               # a shell's background jobs ignore the interrupt, and so would what they start
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert program.stdout is not None
    assert program.stdout.readline() == "[[0, 1], [4, 9]]\n"
    workers = [int(pid) for pid in program.stdout.readline().split()]
    os.killpg(program.pid, signal.SIGINT)
    _, errors = program.communicate(timeout=60)
    assert errors.count("Traceback") == 1 and errors.strip().endswith("KeyboardInterrupt"), errors
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


@pytest.mark.parametrize(("options", "message"), [
    (dict(num_workers=-1), "num_workers option should be non-negative"),
    (dict(timeout=-1), "timeout option should be non-negative"),
    (dict(prefetch_factor=3), "prefetch_factor option could only be specified in multiprocessing"),
    (dict(persistent_workers=True), "persistent_workers option needs num_workers > 0"),
    (dict(sampler=[0], shuffle=True), "sampler option is mutually exclusive with shuffle"),
    (dict(batch_sampler=[[0]], batch_size=3), "batch_sampler option is mutually exclusive with batch_size"),
    (dict(batch_size=None, drop_last=True), "batch_size=None option disables auto-batching"),
    (dict(multiprocessing_context="fork"), "multiprocessing_context can only be used with multi-process loading"),
    (dict(num_workers=1, multiprocessing_context="walk"), "should specify a valid start method in .* but got .*'walk'"),
])
def test_options_that_contradict_are_refused(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DataLoader(range(4), **options)


@pytest.mark.parametrize("options", [dict(shuffle=True), dict(sampler=[0]), dict(batch_sampler=[[0]])])
def test_iterable_datasets_have_no_order_of_the_loader(options: Any) -> None:
    with pytest.raises(ValueError, match=f"expected unspecified {next(iter(options))} option"):
        DataLoader(Shares(), **options)


def test_parts_of_a_loader_stay() -> None:
    loader = DataLoader(range(4))
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 2


def test_pinning_without_an_accelerator_warns() -> None:
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(DataLoader(range(4), pin_memory=True))) == 4
