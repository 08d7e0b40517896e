"""Samples of the ops in retrograd/ops/loss/margin.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples

LABELS = [[0, -1, 1, 2], [3, 1, -1, -1], [-1, 0, 0, 0]]


@samples("multi_margin_loss.default")
def classes(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), make.index(4, 3), 1, 1, None, reduction)
        yield Sample(make(3, 4), make.index(4, 3), 2, 0.5, make(4, requires_grad=False), reduction)
        yield Sample(make(4), make.index(4), 2, 1, None, reduction, note="no batch")
    yield Sample(make(4), make.index(4, 1), 1, 1, None, 0)
    yield Sample(make(), make.index(1), 1, 1, None, 0, note="one class")
    yield Sample(make(0, 3), make.index(3, 0), 1, 1, None, 0, note="no examples")
    yield Sample(make(4, 3).mT, make.index(4, 3), 2)


@samples("multi_margin_loss_backward.default")
def classes_backward(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3), make(3, 4), make.index(4, 3), 1, 1, None, 0)
    yield Sample(make(), make(3, 4), make.index(4, 3), 2, 0.5, make(4, requires_grad=False), 1)
    yield Sample(make(), make(4), make.index(4), 2, 1, None, 2)


@samples("multilabel_margin_loss.default", "multilabel_margin_loss_forward.default")
def labels(make: Maker) -> Iterator[Sample]:
    for reduction in (0, 1, 2):
        yield Sample(make(3, 4), torch.tensor(LABELS), reduction)
        yield Sample(make(4), torch.tensor(LABELS[1]), reduction, note="no batch")
    yield Sample(make(), torch.tensor(0), 0, note="one class")
    yield Sample(make(0, 3), make.index(3, 0, 3), 0, note="no examples")


@samples("multilabel_margin_loss_backward.default")
def labels_backward(make: Maker) -> Iterator[Sample]:
    right = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]], dtype=make.dtype)
    yield Sample(make(3), make(3, 4), torch.tensor(LABELS), 0, right)
    yield Sample(make(), make(3, 4), torch.tensor(LABELS), 1, right)
    yield Sample(make(), make(4), torch.tensor(LABELS[1]), 2, right[1])
