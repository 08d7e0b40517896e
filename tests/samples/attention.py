"""Samples of the ops in retrograd/ops/nn/attention.py."""
from __future__ import annotations

from collections.abc import Iterator

import retrograd as torch
from tests.samples import Maker, Sample, samples


@samples("_scaled_dot_product_flash_attention_for_cpu.default")
def flash(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4))
    yield Sample(make(1, 1, 3, 2), make(1, 1, 3, 2), make(1, 1, 3, 2), 0.0, True)
    yield Sample(make(1, 1, 2, 2), make(1, 1, 3, 2), make(1, 1, 3, 2), attn_mask=make(2, 3, requires_grad=False), scale=0.3)


@samples("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def flash_backward(make: Maker) -> Iterator[Sample]:
    for causal, mask in ((False, None), (True, None), (False, make(3, 3, requires_grad=False))):
        inputs = [make(1, 2, 3, 4, requires_grad=False) for _ in range(3)]
        made = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*inputs, 0.0, causal, attn_mask=mask)
        yield Sample(make(1, 2, 3, 4, requires_grad=False), *inputs, *made, 0.0, causal, attn_mask=mask)


@samples("scaled_dot_product_attention.default")
def attention(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4))
    yield Sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), is_causal=True)
    yield Sample(make(3, 4), make(2, 4), make(2, 5), attn_mask=make(3, 2))


@samples("_scaled_dot_product_attention_math.default")
def attention_math(make: Maker) -> Iterator[Sample]:
    yield Sample(make(1, 2, 3, 4), make(1, 2, 3, 4), make(1, 2, 3, 4))
    yield Sample(make(3, 4), make(2, 4), make(2, 5), attn_mask=make(3, 2), scale=0.3)
    yield Sample(make(2, 3, 4), make(2, 3, 4), make(2, 3, 4), is_causal=True)
    dropped = torch.tensor([[True, False], [True, True]])
    yield Sample(make(2, 4), make(2, 4), make(2, 4), dropout_p=0.5, dropout_mask=dropped)
    yield Sample(make(1, 4, 2, 3), make(1, 2, 2, 3), make(1, 2, 2, 3), enable_gqa=True)
