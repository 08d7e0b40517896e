"""Settings of the process are kept, told and checked in PyTorch's words."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import retrograd as torch
from retrograd.settings import Settings


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    kept = {name: value for name, value in vars(Settings).items() if not name.startswith("_")}
    yield
    for name, value in kept.items():
        setattr(Settings, name, value)


def test_deterministic_mode_is_one_setting_in_two_forms() -> None:
    torch.use_deterministic_algorithms(True, warn_only=True)
    assert torch.are_deterministic_algorithms_enabled() and torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.get_deterministic_debug_mode() == 1
    torch.set_deterministic_debug_mode("error")
    assert torch.get_deterministic_debug_mode() == 2 and not torch.is_deterministic_algorithms_warn_only_enabled()
    torch.set_deterministic_debug_mode(0)
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(("wrong", "error", "message"), [
    (lambda: torch.set_deterministic_debug_mode("x"), RuntimeError, "expected one of `default`, `warn`, `error`, but got x"),
    (lambda: torch.set_deterministic_debug_mode(7), RuntimeError, "expected 0, 1, or 2, but got 7"),
    (lambda: torch.set_deterministic_debug_mode(1.5), TypeError, "debug_mode must be str or int, but got <class 'float'>"),
    (lambda: torch.use_deterministic_algorithms(1), TypeError, "argument 'mode' .* must be bool, not int"),
    (lambda: torch.set_num_threads(0), RuntimeError, "set_num_threads expects a positive integer"),
    (lambda: torch.set_num_threads(1.5), RuntimeError, "set_num_threads expects an int, but got float"),
    (lambda: torch.set_num_interop_threads(0), RuntimeError, "set_num_interop_threads expects a positive integer"),
])
def test_wrong_settings_are_refused(wrong: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        wrong()


def test_numbers_and_words_are_told_as_they_were_set() -> None:
    torch.set_num_threads(3)
    torch.set_num_interop_threads(2)
    torch.set_float32_matmul_precision("high")
    torch.set_float32_matmul_precision("unknown")
    assert (torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_float32_matmul_precision()) == (3, 2, "high")
    assert torch.get_default_device() == torch.device("cpu")


def test_printing_can_be_set_from_the_package() -> None:
    try:
        torch.set_printoptions(precision=2)
        assert repr(torch.tensor([1.2345])) == "tensor([1.23])"
    finally:
        torch.set_printoptions(profile="default")
