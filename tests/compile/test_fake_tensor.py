"""Fake tensors have the shapes, dtypes, strides and devices of the real ones, and no values."""
from __future__ import annotations

import copy
from typing import Any

import pytest

import retrograd as torch
import retrograd.nn.functional as F
from retrograd.compile.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeCopyMode,
    FakeTensor,
    FakeTensorMode,
    detect_fake_mode,
    unset_fake_temporarily,
)


@pytest.mark.parametrize("function", [
    lambda t: t @ t.t() + 1,
    lambda t: torch.cat([t, t], 1).softmax(-1).max(0).values,
    lambda t: F.layer_norm(t, (3,)).to(torch.float64),
    lambda t: F.conv1d(t[None], torch.ones(2, 4, 2)),
    lambda t: t.view(-1)[2:].reshape(2, 5).transpose(0, 1),
    lambda t: (t > 0).sum(1, keepdim=True).expand(4, 7),
    lambda t: torch.ones(4, dtype=torch.int64)[:, None] * t,
    lambda t: t.clone().add_(2).t().contiguous(),
])
def test_fake_result_is_like_the_real_one(function: Any) -> None:
    real = torch.randn(4, 3)
    expected = function(real)
    mode = FakeTensorMode()
    with mode:
        got = function(mode.from_tensor(real))
    assert isinstance(got, FakeTensor) and got.fake_mode is mode and str(got.device) == "cpu"
    assert got.shape == expected.shape and got.dtype is expected.dtype and got.stride() == expected.stride()


def test_new_tensors_are_fake_inside_and_gradients_too() -> None:
    with FakeTensorMode():
        layer = torch.nn.Linear(2, 3)
        layer(torch.ones(5, 2)).relu().sum().backward()
    assert isinstance(layer.weight.grad, FakeTensor) and layer.weight.grad.shape == (3, 2)


def test_values_are_refused() -> None:
    mode = FakeTensorMode()
    fake = mode.from_tensor(torch.ones(2))
    for ask in (lambda: fake.sum().item(), lambda: bool(fake[0] > 0), lambda: float(fake[0])):
        with pytest.raises(DataDependentOutputException, match="_local_scalar_dense"):
            ask()
    with pytest.raises(DynamicOutputShapeException, match="nonzero"):
        fake.nonzero()
    with pytest.raises(RuntimeError, match=".numpy\\(\\) is not supported for tensor subclasses."):
        fake.numpy()


def test_real_tensors_do_not_mix_with_fake_ones() -> None:
    fake = FakeTensorMode().from_tensor(torch.ones(2))
    with pytest.raises(AssertionError, match="Please convert all Tensors to FakeTensors first"):
        fake + torch.ones(2)
    mixed = FakeTensorMode(allow_non_fake_inputs=True).from_tensor(torch.ones(2)) + torch.ones(3, 2)
    assert mixed.shape == (3, 2)


def test_text_says_what_a_fake_tensor_is_like() -> None:
    mode = FakeTensorMode()
    assert repr(mode.from_tensor(torch.ones(2, 3))) == "FakeTensor(..., size=(2, 3))"
    assert repr(mode.from_tensor(torch.ones(2, dtype=torch.int64))) == "FakeTensor(..., size=(2,), dtype=torch.int64)"


def test_writes_change_the_geometry_of_fake_tensors_and_give_back_what_was_written() -> None:
    with FakeTensorMode():
        x = torch.ones(2, 1, 3)
        assert x.squeeze_(1) is x and x.shape == (2, 3) and x.t_().stride() == (1, 3) and x.shape == (3, 2)
        out = torch.empty(0)
        assert torch.add(torch.ones(2), torch.ones(2), out=out) is out and out.shape == (2,)
        values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
        made = torch.sort(torch.ones(3), out=(values, places))
        assert made[0] is values and made[1] is places and values.shape == places.shape == (3,)
        assert out.add_(1) is out and out.resize_(2, 2).shape == out.shape == (2, 2)
        assert torch.matmul(torch.ones(3), torch.ones(3, 5)).shape == (5,)
        assert torch.quantile(torch.ones(4), torch.tensor(0.5)).shape == ()


def test_numbers_that_a_program_writes_down_are_known() -> None:
    with FakeTensorMode():
        three = torch.tensor(3)
        assert (three.item(), (three + 1).item()) == (3, 4)
        three.add_(1)
        assert three.item() == 4
        assert torch.ones(4, 4)[[0, 1]].shape == (2, 4)
        with pytest.raises(DataDependentOutputException, match="_local_scalar_dense"):
            torch.rand(1).item()


def test_one_tensor_has_one_fake_tensor_per_mode() -> None:
    mode, x = FakeTensorMode(), torch.ones(10)
    assert mode.from_tensor(x) is mode.from_tensor(x)
    part = mode.from_tensor(x[3:])
    assert part._base is mode.from_tensor(x) and part.storage_offset() == 3
    with pytest.raises(AssertionError, match="Mixing fake modes NYI"):
        part + FakeTensorMode().from_tensor(torch.ones(7))


def test_fake_tensors_on_several_devices_do_not_meet() -> None:
    with FakeTensorMode():
        there = torch.empty(2, device="cuda")
        assert (str(there.device), there.is_cuda, there.is_cpu) == ("cuda:0", True, False)
        assert str((there + torch.tensor(1.0)).device) == "cuda:0"
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
            there + torch.ones(2)


def test_shapes_that_depend_on_a_mask_are_refused() -> None:
    with FakeTensorMode():
        x = torch.rand(3)
        with pytest.raises(DynamicOutputShapeException, match="aten.nonzero.default"):
            x[x > 0]


def test_fake_modes_are_found_in_inputs_and_scopes() -> None:
    mode = FakeTensorMode()
    assert detect_fake_mode([mode.from_tensor(torch.ones(1)), 2]) is mode and detect_fake_mode() is None
    with mode, unset_fake_temporarily() as found:
        assert found is mode and type(torch.ones(1)) is torch.Tensor
    with pytest.raises(AssertionError, match="must be 'meta', got cpu"):
        FakeTensor(mode, torch.ones(2), "cpu")


def test_copies_are_fake_in_a_scope_that_says_so() -> None:
    with FakeCopyMode(FakeTensorMode()):
        made = copy.deepcopy(torch.nn.Linear(2, 3))
    assert repr(made.bias) == "Parameter(FakeTensor(..., size=(3,), requires_grad=True))"


def test_fake_tensors_move_to_other_devices() -> None:
    with FakeTensorMode():
        x = torch.ones(2, device="cuda")
        moved = [x.cpu(), x.to("cpu", torch.float64), torch.ones(2).to(x), x.to("meta"), torch.ones(2).cuda()]
    assert [t.device.type for t in moved] == ["cpu", "cpu", "cuda", "meta", "cuda"]
    assert all(isinstance(t, FakeTensor) for t in moved) and moved[1].dtype is torch.float64
