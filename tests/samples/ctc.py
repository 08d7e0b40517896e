"""Samples of the ops in retrograd/ops/loss/ctc.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from tests.samples import Maker, Sample, samples


def normal(log_probs: Any, *rest: Any) -> Any:
    """The gradient holds for frames that come out of a log_softmax."""
    return log_probs.log_softmax(-1), *rest


def likely(*results: Any) -> Any:
    return results[:1]


def targets() -> Any:
    return torch.tensor([[1, 1, 3], [2, 1, 2]])


@samples("_ctc_loss.default")
def of_lists(make: Maker) -> Iterator[Sample]:
    yield Sample(make(6, 2, 4), targets(), (6, 6), (3, 3), before=normal, after=likely)
    yield Sample(make(6, 2, 4), torch.tensor([1, 1, 3, 2, 3, 2]), (6, 6), (3, 3), 0, True, before=normal, after=likely)
    yield Sample(make(1, 1, 2), torch.tensor([[1]]), (1,), (1,), before=normal, after=likely, note="one frame")


@samples("_ctc_loss.Tensor")
def of_tensors(make: Maker) -> Iterator[Sample]:
    yield Sample(make(5, 2, 4), targets(), torch.tensor([5, 5]), torch.tensor([3, 3]), 0, before=normal, after=likely)


@samples("ctc_loss.IntList")
def reduced_of_lists(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(6, 2, 4), targets(), (6, 5), (3, 2), 0, reduction, before=normal)
    yield Sample(make(6, 3, 4), torch.tensor([1, 2, 1, 3]), (6, 4, 0), (2, 2, 0), 0, 1, before=normal, note="joined targets")
    yield Sample(make(6, 2, 4), torch.tensor([[1, 1, 3], [2, 1, 2]]), (6, 2), (3, 3), 0, 2, True, before=normal,
                 note="too short")
    yield Sample(make(4, 2, 3), torch.tensor([[1, 0], [0, 1]]), (4, 4), (2, 2), 2, 0, before=normal, note="last is blank")
    yield Sample(make(4, 3), torch.tensor([1, 2]), (4,), (2,), 0, 0, before=normal, note="no batch")
    yield Sample(make(4, 2, 3), torch.tensor([[1, 0], [1, 1]]), (4, 4), (0, 0), 0, 0, before=normal, note="no targets")


@samples("ctc_loss.Tensor")
def reduced_of_tensors(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(6, 2, 4), targets(), torch.tensor([6, 5]), torch.tensor([3, 2]), 0, reduction, before=normal)


def backward(make: Maker, wrap: Any) -> Iterator[Sample]:
    frames = make(5, 2, 4).detach().log_softmax(-1)
    for labels, zero_infinity in ((targets(), False), (torch.tensor([1, 1, 3, 2, 1, 2]), True)):
        loss, states = torch.ops.aten._ctc_loss(frames, labels, (5, 5), (3, 3), 0, zero_infinity)
        yield Sample(make(2), frames.clone().requires_grad_(), labels, wrap((5, 5)), wrap((3, 3)), loss, states, 0,
                     zero_infinity)


@samples("_ctc_loss_backward.default")
def backward_of_lists(make: Maker) -> Iterator[Sample]:
    yield from backward(make, list)


@samples("_ctc_loss_backward.Tensor")
def backward_of_tensors(make: Maker) -> Iterator[Sample]:
    yield from backward(make, torch.tensor)
