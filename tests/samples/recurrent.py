"""Samples of the ops in retrograd/ops/nn/recurrent.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import retrograd as torch
from tests.samples import Maker, Sample, samples


def inputs(make: Maker, **kwargs: Any) -> list[Any]:
    """Two steps of three sequences of width 2, for hidden states of width 2."""
    shapes = ((2, 3, 2), (8, 2), (8, 2), (8,), (8,), (3, 2), (3, 2))
    return [make(*shape, **kwargs) for shape in shapes]


@samples("mkldnn_rnn_layer.default")
def layer(make: Maker) -> Iterator[Sample]:
    yield Sample(*inputs(make), False, [], 2, 2, 1, True, False, False, True)
    yield Sample(*inputs(make), True, [], 2, 2, 1, True, False, False, True)
    yield Sample(*inputs(make), False, [], 2, 2, 1, False, False, False, True)


@samples("mkldnn_rnn_layer_backward.default")
def layer_backward(make: Maker) -> Iterator[Sample]:
    for reverse in (False, True):
        given = inputs(make, requires_grad=False)
        made = torch.ops.aten.mkldnn_rnn_layer(*given, reverse, [], 2, 2, 1, True, False, False, True)
        grads = [make(*t.shape, requires_grad=False) for t in made[:3]]
        yield Sample(*given, *made[:3], *grads, reverse, 2, 2, 1, True, True, False, [], False, made[3])
        yield Sample(*given, *made[:3], grads[0], None, None, reverse, 2, 2, 1, True, True, False, [], False, made[3])
