"""Questions of reference implementations about shapes, strides and operands."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
import retrograd._prims_common as u


def test_shapes_are_inferred() -> None:
    assert u.infer_size((2, -1), 6) == (2, 3) and u.infer_size_shapes((3, 1), (2,)) == (3, 2)
    assert u.reduction_dims((2, 3), (-1,)) == (1,) and u.compute_reduction_output_shape((2, 3, 4), (0, 2)) == (3,)
    assert u.extract_shape_from_varargs(((2, 3),)) == u.extract_shape_from_varargs((2, 3)) == (2, 3)
    for call, text in ((lambda: u.infer_size((2, -1), 7), "shape '[2, -1]' is invalid for input of size 7"),
                       (lambda: u.infer_size((-1, -1), 7), "only one dimension can be inferred"),
                       (lambda: u.reduction_dims((2,), (0, 0)), "duplicate value in the list of dims")):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == text


def test_strides_of_elementwise_results_follow_the_operands() -> None:
    assert u.make_channels_last_strides_for((2, 3, 4, 5)) == (60, 1, 15, 3)
    assert u.make_channels_last_strides_for((2, 3, 4)) == (12, 1, 3)
    images = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert u.compute_elementwise_output_strides(images, torch.tensor(1.0)) == images.stride()
    assert u.suggest_memory_format(images) is torch.channels_last
    assert u.is_non_overlapping_and_dense_or_false(images) and not u.is_non_overlapping_and_dense_or_false(images[:, :1])
    assert u.clone_preserve_strides(torch.ones(2, 3).t()).stride() == (1, 3)


@pytest.mark.parametrize(("call", "kind", "text"), [
    (lambda: u.compare_tensor_meta(torch.ones(2), torch.ones(3)), RuntimeError, "Shapes torch.Size"),
    (lambda: u.check_same_dtype(torch.ones(1), torch.ones(1, dtype=torch.int64)), RuntimeError, "is not the expected dtype"),
    (lambda: u.check_same_shape(torch.ones(1), torch.ones(2), allow_cpu_scalar_tensors=True), RuntimeError,
     "is not the expected shape"),
    (lambda: u.check_same_device(torch.ones(1), torch.ones(1, device="meta"), allow_cpu_scalar_tensors=False), RuntimeError,
     "is not on the expected device cpu!"),
    (lambda: u.set_correction(True, 1), RuntimeError, "cannot specify both correction and unbiased arguments"),
    (lambda: u.check_fp_or_complex(torch.int64, "f"), RuntimeError, "f: Expected a floating point or complex tensor"),
    (lambda: u.check_is_matrix(torch.ones(1), "f"), RuntimeError, "must have at least 2 dimensions"),
])
def test_operands_that_do_not_fit_are_refused(call: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        call()


def test_reductions_say_what_they_compute_in() -> None:
    kinds = u.REDUCTION_OUTPUT_TYPE_KIND
    assert u.reduction_dtypes(torch.ones(1, dtype=torch.float16), kinds.SAME) == (torch.float32, torch.float16)
    assert u.reduction_dtypes(torch.ones(1, dtype=torch.complex64), kinds.COMPLEX_TO_FLOAT)[1] is torch.float32
    assert u.reduction_dtypes(torch.ones(1), kinds.ALWAYS_BOOL)[1] is torch.bool
    assert u.can_safe_cast_to(cast_to=torch.float32, cast_from=torch.int64) and u.is_weakly_lesser_type(int, float)
