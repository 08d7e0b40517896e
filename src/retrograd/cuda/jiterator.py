"""torch.cuda.jiterator: functions from CUDA source, which can be named without a device, but not called."""
from __future__ import annotations

from typing import Any

__all__: list[str] = []
ABSENT = "Jiterator is only supported on CUDA and ROCm GPUs, none are available."


def _create_jit_fn(code_string: str, **kwargs: Any) -> Any:
    """A function of tensors from the source of its CUDA kernel."""
    def call(*tensors: Any, **given: Any) -> Any:
        raise AssertionError(ABSENT)
    return call


def _create_multi_output_jit_fn(code_string: str, num_outputs: int, **kwargs: Any) -> Any:
    """A function of tensors with several results from the source of its CUDA kernel."""
    return _create_jit_fn(code_string, **kwargs)
