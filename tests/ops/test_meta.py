"""Meta tensors: the geometry of every sample, and nothing of the size of the operands in memory."""
from __future__ import annotations

import tracemalloc
import warnings
from typing import Any

import pytest

import retrograd as torch
from retrograd.core.tensor import FLAG_META, FLAG_SPARSE, new_tensor
from retrograd.nn import functional
from retrograd.ops.memory.copy import meta_array
from tests.ops import cases

# What a sample's shape depends on besides shapes: values of lengths that are tensors, and memory that a slice was cut from.
BY_VALUE = ("_ctc_loss", "_ctc_loss_backward", "_pack_padded_sequence", "repeat_interleave", "slice_inverse")


def has_shape_rule(case: Any) -> bool:
    return (not case.op.composite and case.places and case.op.meta != "values" and case.op.name not in BY_VALUE
            and not any([t._flags & FLAG_SPARSE for t in case.tensors()])
            and not (case.op.name == "index" and any([t.dtype is torch.bool for t in case.tensors()[1:]])))


def like(t: Any) -> Any:
    """A meta tensor with the strides of `t`."""
    made = new_tensor(meta_array(t.shape, t.stride(), t.array.dtype))
    made._flags |= FLAG_META
    return made


def described(results: Any) -> list[Any]:
    return [(t.shape, t.dtype, t.stride() if t.numel() > 1 else None) for t in results if isinstance(t, torch.Tensor)]


@cases.over(has_shape_rule)
def test_meta_tensors_have_the_geometry_of_real_ones(case: Any) -> None:
    with warnings.catch_warnings(action="ignore"):
        given = [t.detach() for t in case.tensors()]
        real = case.call(case.places, given)
        meta = case.call(case.places, [like(t) for t in given])
    assert described(meta) == described(real)
    assert all([t.is_meta for t in meta if isinstance(t, torch.Tensor)])


def large(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.empty(*shape, dtype=dtype, device="meta")


IMAGES = large(8, 64, 256, 256)
LARGE = [
    (lambda: functional.relu(IMAGES), (8, 64, 256, 256)), (lambda: IMAGES + large(64, 1, 1), (8, 64, 256, 256)),
    (lambda: IMAGES.sum((2, 3)), (8, 64)), (lambda: torch.cat([IMAGES, IMAGES], 1), (8, 128, 256, 256)),
    (lambda: functional.conv2d(IMAGES, large(128, 64, 7, 7), stride=2, padding=3), (8, 128, 128, 128)),
    (lambda: functional.conv1d(large(4, 32, 16000), large(64, 32, 25), stride=5), (4, 64, 3196)),
    (lambda: functional.max_pool2d(IMAGES, 3, 2, 1), (8, 64, 128, 128)),
    (lambda: functional.interpolate(IMAGES, scale_factor=2), (8, 64, 512, 512)),
    (lambda: functional.unfold(IMAGES, 3), (8, 576, 64516)), (lambda: functional.group_norm(IMAGES, 32), (8, 64, 256, 256)),
    (lambda: functional.linear(large(32, 512, 768), large(3072, 768), large(3072)), (32, 512, 3072)),
    (lambda: functional.layer_norm(large(32, 512, 768), (768,)), (32, 512, 768)),
    (lambda: functional.embedding(large(32, 512, dtype=torch.int64), large(50000, 768)), (32, 512, 768)),
    (lambda: torch.kron(large(100, 100), large(50, 50)), (5000, 5000)), (lambda: IMAGES.topk(10).values, (8, 64, 256, 10)),
    (lambda: torch.linalg.svd(large(100, 300)).Vh, (300, 300)), (lambda: large(2048, 4096) @ large(4096, 1000), (2048, 1000)),
    (lambda: torch.zeros(2**20, 2**20, device="meta") * 2, (2**20, 2**20)), (lambda: IMAGES.add_(1), (8, 64, 256, 256)),
]


@pytest.mark.parametrize(("call", "shape"), LARGE)
def test_large_meta_tensors_take_no_memory(call: Any, shape: Any) -> None:
    call()
    peaks = []
    for _ in range(4):                    # the least counts: some calls also remember or, in the plain core, generate code
        tracemalloc.start()
        try:
            made = call()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert made.shape == shape and made.is_meta and min(peaks) < 4 * 4096


@pytest.mark.parametrize("call", [lambda: large(1000).nonzero(), lambda: IMAGES[IMAGES > 0], lambda: large(1000).unique(),
                                  lambda: torch.masked_select(large(1000), large(1000) > 0)])
def test_shapes_that_depend_on_values_are_refused(call: Any) -> None:
    with pytest.raises(NotImplementedError, match="with Meta tensors"):
        call()


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="must match the size of tensor b"):
        large(3000, 4000) + large(5000)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        large(300, 400) @ large(500, 600)


def test_functions_made_of_ops_create_their_helpers_on_the_device_of_their_operands():
    x, image = torch.ones(4, 4, device="meta"), torch.ones(1, 2, 5, device="meta")
    q, mask = torch.ones(4, 3, 8, device="meta"), torch.ones(3, 3, dtype=torch.bool, device="meta")
    for made, shape in [
        (torch.linalg.matrix_rank(x), ()), (torch.linalg.vander(x), (4, 4, 4)), (torch.quantile(x, 0.5), ()),
        (functional.dropout2d(torch.ones(2, 3, 4, 5, device="meta")), (2, 3, 4, 5)),
        (functional.pad(image, (1, 2), mode="circular"), (1, 2, 8)),
        (functional.feature_alpha_dropout(x[None], 0.5, training=True), (1, 4, 4)),
        (functional.scaled_dot_product_attention(q, q, q, attn_mask=mask), (4, 3, 8)),
        (functional.scaled_dot_product_attention(q, q, q, is_causal=True), (4, 3, 8)),
        (functional.ctc_loss(torch.ones(5, 2, 4, device="meta"), torch.ones(2, 3, device="meta").long(), [5, 5], [3, 3]), ()),
    ]:
        assert made.is_meta and made.shape == shape


def test_out_tensor_on_another_device_is_refused():
    for function, args in [(torch.add, (torch.ones(2), 1)), (torch.mm, (torch.ones(2, 2), torch.ones(2, 2)))]:
        made = function(*args)
        with pytest.raises(RuntimeError, match="from device cpu to device meta, but cross-device copies are not allowed"):
            function(*args, out=torch.empty_like(made, device="meta"))
