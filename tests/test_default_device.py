"""The device that new tensors are made on: by scope, and from now on."""
from __future__ import annotations

from typing import Any

import pytest

import retrograd as torch
from retrograd.utils._device import set_device


def test_scope_gives_new_tensors_its_device() -> None:
    with torch.device("meta") as scope:
        assert scope == torch.device("meta") == torch.get_default_device()
        assert torch.ones(2).is_meta and torch.tensor([1.0]).is_meta and torch.nn.Linear(2, 2).weight.is_meta
        assert not torch.ones(2, device="cpu").is_meta and not torch.ones_like(torch.ones(1, device="cpu")).is_meta
        with torch.device("cpu"):
            assert not torch.arange(3).is_meta
        assert torch.arange(3).is_meta
    assert not torch.ones(2).is_meta and torch.get_default_device() == torch.device("cpu")


def test_one_device_object_can_be_entered_twice() -> None:
    device = torch.device("meta")
    with device:
        with device:
            pass
        assert torch.zeros(1).is_meta
    assert not torch.zeros(1).is_meta


def test_default_device_stays_until_it_is_set_again() -> None:
    torch.set_default_device("meta")
    try:
        assert torch.zeros(1).is_meta and torch.get_default_device().type == "meta"
    finally:
        torch.set_default_device(None)
    assert not torch.zeros(1).is_meta


def test_a_device_decorates_functions_and_generators() -> None:
    def several() -> Any:
        yield torch.ones(1).device.type

    assert set_device("meta")(lambda: torch.ones(2).device.type)() == "meta" and list(set_device("meta")(several)()) == ["meta"]
    with pytest.raises(RuntimeError, match="Cannot decorate classes"):
        set_device("meta")(torch.nn.Linear)


def test_number_of_a_device_needs_an_accelerator():
    for make in (lambda: torch.device(0), lambda: torch.zeros(2, device=0), lambda: torch.ones(2).to(1)):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
            make()
