"""Samples of single recurrent steps."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("lstm_cell.default")
def lstm(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), [make(3, 2), make(3, 2)], make(8, 2), make(8, 2), make(8), make(8))
    yield Sample(make(3, 4), [make(3, 2), make(3, 2)], make(8, 4), make(8, 2))


@samples("gru_cell.default")
def gru(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 2), make(6, 2), make(6, 2), make(6), make(6))
    yield Sample(make(2), make(2), make(6, 2), make(6, 2))


@samples("rnn_tanh_cell.default", "rnn_relu_cell.default")
def simple(make: Maker) -> Iterator[Sample]:
    yield Sample(make(3, 2), make(3, 4), make(4, 2), make(4, 4), make(4), make(4))
    yield Sample(make(3, 2), make(3, 4), make(4, 2), make(4, 4))


@samples("_assert_async.default")
def condition(make: Maker) -> Iterator[Sample]:
    yield Sample(torch.tensor(True), grad=False)


@samples("_assert_async.msg")
def worded_condition(make: Maker) -> Iterator[Sample]:
    yield Sample(torch.tensor(2.0), "it must not be zero", grad=False)


@samples("_functional_assert_async.msg")
def condition_with_token(make: Maker) -> Iterator[Sample]:
    yield Sample(torch.tensor(True), "it must hold", make(2))
