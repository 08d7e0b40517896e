"""PyTorch's reference implementations and primitives, under PyTorch's names."""
from __future__ import annotations

import pytest

import retrograd as torch
from retrograd import _prims, _refs


def test_references_are_the_ops() -> None:
    x = torch.tensor([1.0, 4.0])
    assert _refs.sqrt(x).tolist() == [1.0, 2.0]
    assert _refs.nn.functional.relu(-x).tolist() == [0.0, 0.0]
    assert _refs.special.expit(torch.zeros(1)).tolist() == [0.5]
    assert _refs.linalg.vector_norm(torch.tensor([3.0, 4.0])).item() == 5.0
    assert _refs.fft.fft(torch.ones(2)).tolist() == [2, 0]
    assert _refs._conversions.double(x).dtype is torch.float64
    assert _refs.new_ones(x, (1,)).tolist() == [1.0]
    assert _refs.rpow(x, 2.0).tolist() == [2.0, 16.0]
    assert _refs.trunc_divide(torch.tensor([-3]), 2).tolist() == [-1]


def test_unknown_references_are_absent() -> None:
    for module in (_refs, _refs.fft, _refs.nn.functional, _refs._conversions, _prims):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = module.no_such_name


def test_random_references_leave_their_argument() -> None:
    x = torch.zeros(3)
    for made in (_refs.exponential(x), _refs.cauchy(x), _refs.geometric(x, 0.5), _refs.log_normal(x)):
        assert made.shape == x.shape and x.tolist() == [0.0, 0.0, 0.0]


def test_primitive_views_share_memory() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    for view, shape in ((_prims.collapse_view(x, 0, 1), [6]), (_prims.split_dim(x, 1, 3), [2, 3, 1]),
                        (_prims.expand_dims(x, [0, -1]), [1, 2, 3, 1]), (_prims.view_of(x), [2, 3]),
                        (_prims.broadcast_in_dim(x, (4, 2, 3), (1, 2)), [4, 2, 3])):
        assert list(view.shape) == shape and view.data_ptr() == x.data_ptr()


def test_primitives_check_their_arguments() -> None:
    with pytest.raises(ValueError, match="with a remainder"):
        _prims.split_dim(torch.ones(4), 0, 3)
    with pytest.raises(ValueError, match="strictly ascending"):
        _prims.broadcast_in_dim(torch.ones(2, 3), (2, 3), (1, 0))


def test_primitives_compute() -> None:
    x = torch.tensor([-8.0, 27.0])
    assert _prims.cbrt(x).tolist() == pytest.approx([-2.0, 3.0])
    assert _prims.iota(3, start=1, step=2, dtype=torch.int64, device="cpu", requires_grad=False).tolist() == [1, 3, 5]
    assert _prims.maximum_value(torch.int8) == 127 and _prims.minimum_value(torch.bool) is False
    spectrum = _prims.fft_r2c(x, dim=[0], onesided=True)
    assert _prims.fft_c2r(spectrum, dim=[0], last_dim_size=2).tolist() == [-16.0, 54.0]
