"""Settings of back ends, and when they may be changed."""
from __future__ import annotations

from collections.abc import Iterator

import pytest

import retrograd as torch
from retrograd.backends import frozen


@pytest.fixture
def thaw() -> Iterator[None]:
    yield
    frozen.frozen = False


def test_settings_are_changed_only_in_blocks_after_global_flags_are_disabled(thaw: None) -> None:
    torch.backends.cudnn.benchmark = False
    torch.backends.disable_global_flags()
    assert torch.backends.flags_frozen()
    with pytest.raises(RuntimeError, match="not allowed to set torch.backends.cudnn flags after disable_global_flags"):
        torch.backends.cudnn.benchmark = True
    with frozen.allow_changes():
        torch.backends.cudnn.benchmark = False


def test_quantized_engines_that_are_not_there_are_refused() -> None:
    assert torch.backends.quantized.supported_engines == [] and torch.backends.quantized.engine == "none"
    with pytest.raises(RuntimeError, match="foo is not a valid value for quantized engine"):
        torch.backends.quantized.engine = "foo"
    with pytest.raises(RuntimeError, match="Assignment not supported"):
        torch.backends.quantized.supported_engines = ["foo"]


def test_the_capability_of_the_processor_can_be_lowered(monkeypatch: pytest.MonkeyPatch) -> None:
    best = torch.backends.cpu.get_cpu_capability()
    assert best in ("DEFAULT", "AVX2", "AVX512")
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "avx2")
    assert torch.backends.cpu.get_cpu_capability() == ("AVX2" if best == "AVX512" else best)
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")
    assert torch.backends.cpu.get_cpu_capability() == "DEFAULT"
