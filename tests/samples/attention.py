"""Samples of the ops in retrograd/ops/nn/attention.py."""
from __future__ import annotations

from collections.abc import Iterator

from tests.samples import Maker, Sample, samples


@samples("_scaled_dot_product_flash_attention_for_cpu.default")
def flash(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4))
    yield Sample(make(1, 1, 3, 2), make(1, 1, 3, 2), make(1, 1, 3, 2), 0.0, True)
    yield Sample(make(1, 1, 2, 2), make(1, 1, 3, 2), make(1, 1, 3, 2), attn_mask=make(2, 3, requires_grad=False), scale=0.3)


@samples("scaled_dot_product_attention.default")
def attention(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4))
    yield Sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), is_causal=True)
    yield Sample(make(3, 4), make(2, 4), make(2, 5), attn_mask=make(3, 2))
