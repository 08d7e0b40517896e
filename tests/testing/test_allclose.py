"""The older comparison of torch.testing."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.testing import assert_allclose


@pytest.mark.parametrize(("dtype", "near", "far"), [(torch.float16, 9e-4, 2e-3), (torch.float32, 9e-6, 2e-5),
                                                    (torch.float64, 9e-9, 2e-8)], ids=str)
def test_tolerances_are_the_older_ones(dtype, near, far) -> None:
    zero = torch.zeros(1, dtype=dtype)
    with pytest.warns(FutureWarning, match="assert_close"):
        assert_allclose(zero + near, zero)
    with pytest.warns(FutureWarning), pytest.raises(AssertionError):
        assert_allclose(zero + far, zero)


def test_numbers_of_other_dtypes_and_nan_are_equal() -> None:
    with pytest.warns(FutureWarning):
        assert_allclose([1, 2], torch.tensor([1.0, 2.0]))
    with pytest.warns(FutureWarning):
        assert_allclose(float("nan"), float("nan"))
