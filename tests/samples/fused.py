"""Samples of the ops in retrograd/ops/lists/fused.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("_fused_adam_.default", "_fused_adamw_.default")
def adam(make: Maker) -> Iterator[Sample]:
    for amsgrad, maximize, decay in ((False, False, 0.0), (False, False, 0.1), (True, True, 0.1)):
        lists = [[make(2, 3, low=0.1, requires_grad=False), make(3, low=0.1, requires_grad=False)] for _ in range(5)]
        yield Sample(*lists, [torch.tensor(2.0), torch.tensor(3.0)], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=decay, eps=1e-8,
                     amsgrad=amsgrad, maximize=maximize, grad=False)
