"""Samples of the ops in retrograd/ops/nn/embedding_bag.py."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from retrograd.core.tensor import new_tensor
from tests.samples import Maker, Sample, samples


def bags(make: Maker) -> tuple[Any, Any, Any]:
    return make(6, 3), make.index(6, 7), new_tensor(np.array([0, 3, 3]))


@samples("_embedding_bag.default", "embedding_bag.default")
def embedding_bag(make: Maker) -> Iterator[Sample]:
    yield Sample(*bags(make))
    yield Sample(*bags(make), mode=1, note="mean")
    yield Sample(*bags(make), per_sample_weights=make(7), note="weights")
    yield Sample(*bags(make), mode=2, note="max")


@samples("embedding_bag.padding_idx")
def embedding_bag_padding(make: Maker) -> Iterator[Sample]:
    yield Sample(*bags(make), False, 0, False, None, False, 2)
