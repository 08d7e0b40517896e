"""Scaled losses: gradients are unscaled before the step, steps with infinite ones are skipped, the scale adapts."""
from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import retrograd as torch
from retrograd.amp import GradScaler


def parts() -> tuple[GradScaler, Any, Any]:
    p = torch.nn.Parameter(torch.ones(2))
    return GradScaler("cpu", init_scale=8.0, growth_interval=2), p, torch.optim.SGD([p], lr=0.1)


def test_scale_grows_and_backs_off_as_pytorchs() -> None:
    scaler, p, optimizer = parts()
    seen = []
    for factor in (1.0, 1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * torch.tensor([1.0, 2.0])).sum() * factor).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler.state_dict()["_growth_tracker"]))
    assert seen == [(8, 1), (16, 0), (8, 0), (8, 1), (16, 0)]
    assert p.tolist() == [0.5999999046325684, 0.20000003278255463]


def test_unscaled_gradients_can_be_clipped() -> None:
    scaler, p, optimizer = parts()
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called on this optimizer since the last update"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step"):
        scaler.unscale_(optimizer)


def test_order_of_calls_is_checked() -> None:
    scaler, _, optimizer = parts()
    with pytest.raises(AssertionError, match="Attempted step but _scale is None"):
        scaler.step(optimizer)


def test_state_travels() -> None:
    scaler, p, optimizer = parts()
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() == pickle.loads(pickle.dumps(scaler)).state_dict()
    assert copy.deepcopy(scaler).get_scale() == 8


def test_without_cuda_it_is_off() -> None:
    with pytest.warns(UserWarning, match="torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling."):
        scaler = GradScaler()
    assert not scaler.is_enabled() and scaler.scale(3) == 3 and scaler.state_dict() == {} and scaler.get_scale() == 1.0
    with pytest.warns(FutureWarning, match=r"`torch.cuda.amp.GradScaler\(args...\)` is deprecated"):
        torch.cuda.amp.GradScaler(enabled=False)
