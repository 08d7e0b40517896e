"""torch.onnx: whether an export runs; exporting itself is not there."""
from __future__ import annotations

from typing import Any

__all__ = ["OnnxExporterError", "export", "is_in_onnx_export", "register_custom_op_symbolic",
           "unregister_custom_op_symbolic"]


class OnnxExporterError(RuntimeError):
    """An export failed."""


def is_in_onnx_export() -> bool:
    """Whether a module is being exported.

    >>> is_in_onnx_export()
    False
    """
    return False


def export(*args: Any, **kwargs: Any) -> Any:
    """Refuses: modules are not written as ONNX files.

    >>> export(None)
    Traceback (most recent call last):
    retrograd.onnx.OnnxExporterError: retrograd does not write ONNX files. Save the state_dict with torch.save, ...
    """
    raise OnnxExporterError("retrograd does not write ONNX files. Save the state_dict with torch.save, and export it where "
                            "PyTorch is installed")


symbolics: dict[tuple[str, int], Any] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int, custom_opsets: Any = None) -> None:
    """Note how an op would be written as ONNX nodes."""
    symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget what was noted."""
    symbolics.pop((symbolic_name, opset_version), None)
