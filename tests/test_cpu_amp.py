"""The older names of mixed precision on the cpu, and its streams."""
from __future__ import annotations

import pytest

import retrograd as torch


def test_old_autocast_of_the_cpu_lowers_products() -> None:
    with pytest.warns(FutureWarning, match="torch.cpu.amp.autocast"), torch.cpu.amp.autocast():
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.bfloat16
    with pytest.warns(FutureWarning), torch.cpu.amp.autocast(enabled=False):
        assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype == torch.float32


def test_old_scaler_of_the_cpu_scales() -> None:
    with pytest.warns(FutureWarning, match="torch.cpu.amp.GradScaler"):
        scaler = torch.cpu.amp.GradScaler(init_scale=4.0)
    assert scaler.scale(torch.ones(1)).item() == 4.0


def test_modules_of_mixed_precision_hold_its_classes() -> None:
    from retrograd.cuda.amp.autocast_mode import autocast
    from retrograd.cuda.amp.common import amp_definitely_not_available
    from retrograd.cuda.amp.grad_scaler import GradScaler
    assert (autocast, GradScaler) == (torch.cuda.amp.autocast, torch.cuda.amp.GradScaler)
    assert amp_definitely_not_available()


def test_stream_is_in_force_inside_its_block() -> None:
    before, mine = torch.cpu.current_stream(), torch.cpu.Stream()
    with torch.cpu.stream(mine):
        assert torch.cpu.current_stream() is mine
    assert torch.cpu.current_stream() is before


def test_autocast_runs_a_recurrent_layer_in_the_lower_precision() -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.LSTM(2, 3, num_layers=2, bidirectional=True), torch.ones(4, 1, 2)
    wanted, _ = layer(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, (hidden, cell) = layer(x)
    assert output.dtype == hidden.dtype == cell.dtype == torch.bfloat16
    torch.testing.assert_close(output.float(), wanted, atol=0.02, rtol=0.02)
    output.sum().backward()
    assert layer.weight_ih_l0.grad.dtype == torch.float32


def test_autocast_decorates_only_what_can_be_called() -> None:
    with pytest.raises(TypeError, match=r"autocast\(\)\(func\) requires a callable, but got int"):
        torch.autocast("cpu")(5)
