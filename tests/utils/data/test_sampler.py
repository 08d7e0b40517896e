"""Samplers visit samples in PyTorch's order from the same seed. Orders are recorded from PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)


def test_orders_are_pytorchs() -> None:
    torch.manual_seed(0)
    assert list(RandomSampler(range(12))) == [6, 0, 1, 2, 5, 9, 4, 10, 11, 7, 3, 8]
    assert list(RandomSampler(range(5), True, 40)) == [
        1, 3, 2, 0, 2, 1, 2, 4, 0, 1, 1, 3, 4, 1, 4, 3, 0, 2, 4, 2, 3, 4, 1, 2, 2, 4, 2, 2, 0, 2, 1, 3, 1, 3, 4, 2, 4, 3, 3, 1]
    assert list(RandomSampler(range(5), num_samples=13)) == [3, 2, 4, 1, 0, 2, 3, 1, 0, 4, 1, 4, 0]
    assert list(SubsetRandomSampler([3, 4, 5, 9])) == [9, 5, 3, 4]
    assert list(WeightedRandomSampler([0.1, 0.5, 0.2, 0.2], 10)) == [0, 1, 1, 1, 1, 1, 1, 3, 1, 1]
    assert list(WeightedRandomSampler([0.1, 0.5, 0.2, 0.2], 3, replacement=False)) == [2, 1, 3]


def test_a_generator_leaves_the_default_one_alone() -> None:
    before = torch.get_rng_state()
    first = list(RandomSampler(range(9), generator=torch.Generator().manual_seed(1)))
    assert first == list(RandomSampler(range(9), generator=torch.Generator().manual_seed(1)))
    assert torch.equal(before, torch.get_rng_state())


def test_processes_share_a_dataset() -> None:
    sampler = DistributedSampler(range(11), 3, 1, seed=2)
    sampler.set_epoch(4)
    assert list(sampler) == [0, 1, 9, 10] and len(sampler) == 4
    shares = [list(DistributedSampler(range(11), 3, rank)) for rank in range(3)]
    assert sorted({i for share in shares for i in share}) == list(range(11))
    assert [len(DistributedSampler(range(11), 3, rank, drop_last=True)) for rank in range(3)] == [3, 3, 3]
    assert list(DistributedSampler(range(2), 5, 4, shuffle=False)) == [0]
    with pytest.raises(ValueError, match=r"Invalid rank 2, rank should be in the interval \[0, 1\]"):
        DistributedSampler(range(3), 2, 2)


def test_batches_of_any_iterable() -> None:
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]] and len(BatchSampler(range(5), 2, True)) == 2
    assert list(BatchSampler(iter("abc"), 2, False)) == [["a", "b"], ["c"]]      # type: ignore[arg-type]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: RandomSampler([]), "num_samples should be a positive integer value, but got num_samples=0"),
    (lambda: RandomSampler([1], num_samples=-1), "num_samples should be a positive integer value, but got num_samples=-1"),
    (lambda: WeightedRandomSampler([1], 0), "num_samples should be a positive integer value, but got num_samples=0"),
    (lambda: WeightedRandomSampler([[1]], 1), r"weights should be a 1d sequence but given weights have shape \(1, 1\)"),
    (lambda: BatchSampler([1], True, False), "batch_size should be a positive integer value, but got batch_size=True"),
    (lambda: BatchSampler([1], 1, 2), "drop_last should be a boolean value, but got drop_last=2"),
])
def test_wrong_arguments_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_sampler_has_to_say_its_order() -> None:
    with pytest.raises(NotImplementedError):
        iter(Sampler())


def test_a_sampler_of_any_length_starts_at_once() -> None:
    torch.manual_seed(0)
    drawn = iter(RandomSampler(range(5), replacement=True, num_samples=10**18))
    assert [next(drawn) for _ in range(6)] == [1, 0, 4, 3, 4, 0]
    passes = iter(RandomSampler(range(5), num_samples=10**18))
    assert sorted(next(passes) for _ in range(5)) == [0, 1, 2, 3, 4]
