"""`export` and its relatives under the names of `torch.onnx.utils`."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from retrograd.onnx import export, is_in_onnx_export, register_custom_op_symbolic, unregister_custom_op_symbolic

__all__ = ["export", "is_in_onnx_export", "register_custom_op_symbolic", "select_model_mode_for_export",
           "unregister_custom_op_symbolic"]


@contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """Put a module in the mode to export it in, and back."""
    before = {module: module.training for module in model.modules()}
    if mode.name != "PRESERVE":
        model.train(mode.name == "TRAINING")
    try:
        yield
    finally:
        for module, was in before.items():
            module.training = was
