"""Ops refuse the dtypes that their kernels were not made for, and arguments that do not fit, in the words of PyTorch."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.core.api import ops
from retrograd.ops.indexing.index import WRONG_INDEX_DTYPE

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
    ("int16", "\"igamma_cpu\" not implemented for 'Short'", lambda d: aten.igamma(of(ROWS, d), of(ROWS, d))),
    ("int16", "\"igammac_cpu\" not implemented for 'Short'", lambda d: aten.igammac(of(ROWS, d), of(ROWS, d))),
    ("uint8", "\"tril_indices\" not implemented for 'Byte'", lambda d: torch.tril_indices(2, 2, dtype=d)),
    ("int16", "\"triu_indices\" not implemented for 'Short'", lambda d: torch.triu_indices(2, 2, dtype=d)),
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


@pytest.mark.parametrize(("dtype", "limit", "name"), [
    (torch.int16, 2**15, "int16_t"), (torch.int32, 2**31, "int"), (torch.uint8, 2**8, "uint8_t")])
def test_overflow_names_the_type_of_fixed_width(dtype: torch.dtype, limit: int, name: str) -> None:
    with pytest.raises(RuntimeError, match=f"^value cannot be converted to type {name} without overflow$"):
        torch.full((2,), limit, dtype=dtype)
    with pytest.raises(RuntimeError, match=f"^value cannot be converted to type {name} without overflow$"):
        torch.zeros(2, dtype=dtype)[0] = limit


def test_convolution_names_the_types_of_input_and_bias() -> None:
    image, kernel = torch.ones(1, 1, 3, 3, dtype=torch.int16), torch.ones(1, 1, 2, 2, dtype=torch.int16)
    with pytest.raises(RuntimeError, match=r"^Input type \(short int\) and bias type \(float\) should be the same$"):
        torch.conv2d(image, kernel, torch.ones(1))


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_set_names_the_type_of_the_storage() -> None:
    with pytest.raises(RuntimeError, match="^Expected a Storage of type short int or an UntypedStorage, but got type Float "):
        torch.zeros(2, dtype=torch.int16).set_(torch.zeros(2).storage())


def test_masks_are_no_positions() -> None:
    with pytest.raises(RuntimeError, match="^_unsafe_index found unexpected index type Bool$"):
        aten._unsafe_index(of(2, torch.float32), [of(2, torch.bool)])


VOLUME = (1, 2, 4, 4, 4)


@pytest.mark.parametrize(("error", "words", "run"), [
    (RuntimeError, "avg_pool2d: kernel_size must either be a single int, or a tuple of two ints",
     lambda: aten.avg_pool2d(torch.ones(IMAGE), [2, 2, 2])),
    (RuntimeError, "avg_pool3d: padding must be a single int, or a tuple of three ints",
     lambda: aten.avg_pool3d(torch.ones(VOLUME), [2], [2], [1, 1])),
    (RuntimeError, "max_pool2d: dilation must be either a single int, or a tuple of two ints",
     lambda: aten.max_pool2d(torch.ones(IMAGE), [2], [2], [0], [])),
    (RuntimeError, "stride should not be zero", lambda: aten.avg_pool2d(torch.ones(IMAGE), [2], [0])),
    (RuntimeError, "stride should be greater than zero, but got dH: -1 dW: -1",
     lambda: aten.max_pool2d(torch.ones(IMAGE), [2], [-1])),
    (RuntimeError, "pad must be non-negative, but got pad: -1", lambda: aten.avg_pool2d(torch.ones(IMAGE), [2], [2], [-1])),
    (RuntimeError, "pad should be smaller than or equal to half of kernel size, but got kT: 3 kW: 3 kH: 3 padT: 2 padW: 2 "
     "padH: 2", lambda: aten.max_pool3d(torch.ones(VOLUME), [3], [2], [2], [2])),
    (RuntimeError, "input image (T: 4 H: 4 W: 4) smaller than kernel size (kT: 9 kH: 9 kW: 9)",
     lambda: aten.avg_pool3d(torch.ones(VOLUME), [9])),
    (IndexError, "Dimension specified as -3 but tensor has no dimensions", lambda: aten.avg_pool2d(torch.ones(()), [2])),
    (RuntimeError, "avg_pool1d() argument 'stride' should contain one int (got 2)",
     lambda: aten.avg_pool1d(torch.ones(SEQUENCE), [2], [2, 2])),
    (RuntimeError, "max_pool1d() padding must be an int, list of ints, or tuple of ints of size 1 but got size 0",
     lambda: aten.max_pool1d(torch.ones(SEQUENCE), [2], [2], [])),
    (RuntimeError, "adaptive_avg_pool3d: elements of output_size must be greater than or equal to 0 but received {2, 2,-1}",
     lambda: aten.adaptive_avg_pool3d(torch.ones(VOLUME), [2, 2, -1])),
    (RuntimeError, "adaptive_max_pool2d(): Expected 3D or 4D tensor, but got: [3]",
     lambda: aten.adaptive_max_pool2d(torch.ones(3), [2, 2])),
    (RuntimeError, "adaptive_max_pool2d(): Expected input to have non-zero size for non-batch dimensions, but input has sizes "
     "[1, 2, 4, 0] with dimension 3 being empty", lambda: aten.adaptive_max_pool2d(torch.ones(1, 2, 4, 0), [2, 2])),
    (RuntimeError, "Expected 2 to 3 dimensions, but got 1-dimensional tensor for argument #1 'self' (while checking arguments "
     "for adaptive_max_pool1d)", lambda: aten.adaptive_max_pool1d(torch.ones(3), [2])),
    (RuntimeError, "padding size is expected to be 4, but got: 2", lambda: aten.reflection_pad2d(torch.ones(IMAGE), [1, 1])),
    (RuntimeError, "input (H: 4, W: 4 ) is too small. Calculated output H: -14 W: -14",
     lambda: aten.replication_pad2d(torch.ones(IMAGE), [-9] * 4)),
    (RuntimeError, "Must specify exactly one of output_size and scale_factors",
     lambda: aten.upsample_nearest1d(torch.ones(SEQUENCE), None, None)),
    (RuntimeError, "Expected static_cast<int64_t>(scale_factors->size()) == spatial_dimensions to be true, but got false.  "
     "(Could this error message be improved?  If so, please report an enhancement request to PyTorch.)",
     lambda: aten.upsample_nearest2d(torch.ones(SEQUENCE), None, [2.0, 2.0])),
    (RuntimeError, "expected stride to be a single integer value or a list of 2 values to match the convolution dimensions, "
     "but got stride=[1, 1, 1]", lambda: aten.conv2d(torch.ones(IMAGE), torch.ones(2, 2, 2, 2), None, [1, 1, 1])),
    (RuntimeError, "weight should have at least three dimensions", lambda: aten.conv2d(torch.ones(IMAGE), torch.ones(2, 2))),
    (RuntimeError, "stride cannot broadcast to 2 dimensions",
     lambda: aten.conv2d(torch.ones(IMAGE), torch.ones(2, 2, 2, 2), None, [1, 1, 1], "same")),
    (RuntimeError, "output padding must be smaller than either stride or dilation, but got output_padding_height: 0 "
     "output_padding_width: 3 stride_height: 1 stride_width: 1 dilation_height: 1 dilation_width: 1",
     lambda: aten.conv_transpose1d(torch.ones(SEQUENCE), torch.ones(2, 2, 2), None, [1], [0], [3])),
    (RuntimeError, "kernel size should be greater than zero, but got kernel_height: 2 kernel_width: 0",
     lambda: aten.conv2d(torch.ones(IMAGE), torch.ones(2, 2, 2, 0))),
    (RuntimeError, "Expected num groups to be greater than 0, got 0",
     lambda: aten.native_group_norm(torch.ones(IMAGE), None, None, 1, 2, 16, 0, 1e-5)),
    (RuntimeError, "Given normalized_shape=[3], expected input with shape [*3], but got input of size[1, 2, 4]",
     lambda: aten.rms_norm(torch.ones(SEQUENCE), [3])),
    (ValueError, "For 1D input, 1D target must have size 1, but got target size: 2",
     lambda: aten.nll_loss(torch.ones(3), torch.tensor([1, 2]))),
    (RuntimeError, "Found dtype Double but expected Float",
     lambda: aten.binary_cross_entropy(torch.ones(3), torch.ones(3, dtype=torch.float64))),
    (RuntimeError, "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
     lambda: aten.binary_cross_entropy(torch.ones(3), torch.ones(4))),
    (RuntimeError, "value cannot be converted to type double without overflow",
     lambda: torch.addmm(torch.ones(ROWS), torch.ones(2, 2), torch.ones(ROWS), beta=2j)),
    (RuntimeError, "linalg.vector_norm: Expected a non-complex scalar as the order of norm.",
     lambda: torch.norm(torch.ones(3), 2j)),
    (RuntimeError, "The expanded size of the tensor (3) must match the existing size (4) at non-singleton dimension 0.  Target "
     "sizes: [3].  Tensor sizes: [4]", lambda: torch.ones(3).bernoulli_(torch.ones(4))),
    (RuntimeError, "It is expected dilation equals to 2, but got size 3",
     lambda: aten.im2col(torch.ones(IMAGE), [2, 2], [1, 1, 1], [0, 0], [1, 1])),
    (RuntimeError, "Pivots given to lu_solve must all be smaller or equal to LU.size(-2). Did you properly pass the result of "
     "lu_factor?", lambda: torch.linalg.lu_solve(torch.eye(2), torch.tensor([1, 9], dtype=torch.int32), torch.ones(2, 1))),
    (RuntimeError, "INDICES element is out of DATA bounds, id=9 axis_dim=3",
     lambda: torch.index_select(torch.ones(ROWS), 1, torch.tensor([9]))),
    (IndexError, "index out of range in self", lambda: torch.index_select(torch.ones(ROWS), 0, torch.tensor([-1]))),
    (RuntimeError, "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor "
     "excluding its innermost dimension, but got input with shape [3, 1] and weight with shape [2]",
     lambda: torch.histogram(torch.ones(3), 4, weight=torch.ones(2))),
    (RuntimeError, "unequal size length (1) and stride length (2)",
     lambda: torch.ones(4).set_(torch.ones(4), 0, (2,), (1, 1))),
    (RuntimeError, "Storage size calculation overflowed with sizes=[-1, 2] and strides=[1, 1]",
     lambda: torch.ones(4).as_strided((-1, 2), (1, 1))),
    (RuntimeError, "start (2) + length (2) exceeds dimension size (3).", lambda: torch.narrow_copy(torch.ones(3), 0, -1, 2)),
    (RuntimeError, "value cannot be converted to type float without overflow",
     lambda: torch.nn.functional.leaky_relu(torch.ones(3), 2j)),
    (RuntimeError, "cdist only supports non-negative p values",
     lambda: torch.cdist(torch.ones(ROWS), torch.ones(ROWS), float("nan"))),
    (IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)",
     lambda: torch.rot90(torch.ones(ROWS), 1, (5, 5))),
])
def test_arguments_refused(error: Any, words: str, run: Any) -> None:
    with pytest.raises(error) as caught:
        run()
    assert str(caught.value).split("\n")[0] == words


# ---- index tensors
@pytest.mark.parametrize(
    ("shape", "index", "message"),
    [
        ((3,), [True, False],
         "The shape of the mask [2] at index 0 does not match the shape of the indexed tensor [3] at index 0"),
        ((2, 3, 4), (slice(None), torch.ones(3, 3, dtype=torch.bool)),
         "The shape of the mask [3, 3] at index 1 does not match the shape of the indexed tensor [2, 3, 4] at index 2"),
        ((3,), torch.tensor([0.5]), WRONG_INDEX_DTYPE),
        ((3,), torch.tensor(0.5), WRONG_INDEX_DTYPE),
        ((3,), torch.tensor([1], dtype=torch.int16), WRONG_INDEX_DTYPE),
    ],
)  # fmt: skip
def test_wrong_index_tensors_fail_after_what_is_wrong_with_the_target(shape: Any, index: Any, message: str) -> None:
    x = torch.zeros(shape)
    for call in (lambda: x[index], lambda: x.__setitem__(index, 1.0), lambda: x.__setitem__(index, torch.ones(7, 7, 7))):
        with pytest.raises(IndexError) as caught:
            call()
        assert str(caught.value) == message
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.requires_grad_()[index] = 1.0


COORDINATES = torch.arange(3.0)


@pytest.mark.parametrize(("options", "words"), [
    ({"spacing": [1.0], "dim": (0, 1)}, "a spacing argument of length 1 and a dim argument of length 2"),
    ({"spacing": [COORDINATES, COORDINATES], "dim": 0}, "a spacing argument of length 2 and a dim argument of length 1"),
    ({"spacing": [1.0]}, "'self.dim() = 2', since dim argument was not given, but got a list of length 1"),
    ({"dim": (1, -1)}, "dim 1 appears multiple times in the list of dims"),
    ({"spacing": 2.0, "dim": (0, 0)}, "dim 0 appears multiple times in the list of dims"),
    ({"spacing": [COORDINATES.view(3, 1)], "dim": 0}, "to have one dimension, but got an element with 2"),
    ({"spacing": [COORDINATES.to("meta")], "dim": 0}, "each tensor to be on the same device, but got devices cpu and meta!"),
    ({"dim": (0, 0), "edge_order": 3}, "torch.gradient only supports edge_order=1 and edge_order=2."),
], ids=lambda value: "" if isinstance(value, str) else "-".join(value))
def test_gradient_refuses(options: Any, words: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.gradient(torch.arange(12.0).view(3, 4), **options)
    assert words in str(caught.value)


def test_gradient_refuses_bytes() -> None:
    with pytest.raises(RuntimeError, match="torch.gradient does not support uint8 input"):
        torch.gradient(torch.ones(3, dtype=torch.uint8))


def test_chunk_cat_refuses_a_dimension_that_one_tensor_lacks_and_empty_tensors() -> None:
    with pytest.raises(RuntimeError, match="_chunk_cat expects dim < ndim for all input tensors"):
        torch._chunk_cat([torch.ones(2, 3), torch.ones(2)], 1, 2)
    with pytest.raises(RuntimeError, match="_chunk_cat expects non-empty tensor"):
        torch._chunk_cat([torch.ones(2, 3), torch.ones(0, 3)], 0, 2)


SCORES, CLASSES = torch.zeros(3, 4), torch.tensor([0, 1, 2])


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy", "multi_margin_loss"])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_loss_refuses_weights_of_another_dtype(name: str, dtype: str) -> None:
    weight = torch.ones(4, dtype=getattr(torch, dtype))
    with pytest.raises(RuntimeError, match=f"expected scalar type Float but found {weight.dtype.legacy}"):
        getattr(torch.nn.functional, name)(SCORES, CLASSES, weight=weight)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32"])
def test_attention_refuses_masks_of_another_dtype(dtype: str) -> None:
    q = torch.zeros(1, 1, 3, 4)
    with pytest.raises(RuntimeError, match="Expected attn_mask dtype to be bool or float or to match query dtype, but got"):
        torch.nn.functional.scaled_dot_product_attention(q, q, q, torch.zeros(3, 3, dtype=getattr(torch, dtype)))
