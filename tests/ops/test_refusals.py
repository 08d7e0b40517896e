"""Ops refuse the dtypes that their kernels were not made for, in the words of PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.core.api import ops

aten = ops.aten
IMAGE, SEQUENCE, ROWS = (1, 2, 4, 4), (1, 2, 4), (2, 3)


def of(shape: Any, dtype: Any) -> Any:
    return torch.ones(shape, dtype=dtype)


@pytest.mark.parametrize(("dtype", "words", "run"), [
    ("int32", "\"avg_pool2d\" not implemented for 'Int'", lambda d: aten.avg_pool2d(of(IMAGE, d), [2, 2])),
    ("float16", "\"avg_pool3d_out_frame\" not implemented for 'Half'",
     lambda d: aten.avg_pool3d(of((1, 2, 4, 4, 4), d), [2, 2, 2])),
    ("int64", "\"adaptive_max_pool2d\" not implemented for 'Long'", lambda d: aten.adaptive_max_pool2d(of(IMAGE, d), [3, 3])),
    ("int64", "\"compute_indices_weights_nearest\" not implemented for 'Long'",
     lambda d: aten.upsample_nearest1d(of(SEQUENCE, d), [6])),
    ("uint8", "\"compute_indices_weights_linear\" not implemented for 'Byte'",
     lambda d: aten.upsample_linear1d(of(SEQUENCE, d), [6], False)),
    ("bfloat16", "\"cdist\" not implemented for 'BFloat16'",
     lambda d: aten._cdist_forward(of(ROWS, d), of(ROWS, d), 2.0, None)),
    ("bool", "\"slow_conv2d_cpu\" not implemented for 'Bool'",
     lambda d: aten.conv2d(of(IMAGE, d), of((2, 2, 2, 2), d))),
    ("complex64", "\"slow_conv_dilated<>\" not implemented for 'ComplexFloat'",
     lambda d: aten.convolution(of(SEQUENCE, d), of((2, 2, 2), d), None, [1], [0], [2], False, [0], 1)),
    ("complex64", "clamp is not supported for complex types", lambda d: aten._foreach_maximum([of(ROWS, d)], 1.0)),
], ids=lambda value: value if isinstance(value, str) and " " not in value else "")
def test_kernel_refuses(dtype: str, words: str, run: Any) -> None:
    with pytest.raises(NotImplementedError) as caught:
        run(getattr(torch, dtype))
    assert str(caught.value) == words


def test_transforms_say_what_they_take() -> None:
    with pytest.raises(RuntimeError, match="^Only supports complex dtypes, but found: Half$"):
        aten._fft_c2r(of(4, torch.float16), [0], 0, 6)
    with pytest.raises(RuntimeError, match="^MKL FFT doesn't support tensors of type: Half$"):
        aten._fft_r2c(of(4, torch.float16), [0], 0, True)


def test_indices_of_a_table_are_integers() -> None:
    words = (r"^Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
             r"CPUBoolType instead \(while checking arguments for embedding\)$")
    with pytest.raises(RuntimeError, match=words):
        torch.embedding(of(ROWS, torch.float32), of(2, torch.bool))


def test_weights_of_bags_have_the_dtype_of_the_table() -> None:
    table, places, starts = of(ROWS, torch.float32), torch.tensor([0, 1]), torch.tensor([0])
    with pytest.raises(RuntimeError, match="but type torch.FloatTensor does not equal torch.DoubleTensor"):
        aten._embedding_bag(table, places, starts, per_sample_weights=of(2, torch.float64))


def test_number_must_fit() -> None:
    x = of(2, torch.float32)
    for value in (1j, 1e300):
        with pytest.raises(RuntimeError, match="^value cannot be converted to type float without overflow$"):
            torch.addcmul(x, x, x, value=value)


def test_masks_are_no_positions() -> None:
    with pytest.raises(RuntimeError, match="^_unsafe_index found unexpected index type Bool$"):
        aten._unsafe_index(of(2, torch.float32), [of(2, torch.bool)])
