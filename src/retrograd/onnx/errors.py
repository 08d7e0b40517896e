"""What goes wrong in an export, under PyTorch's names."""
from __future__ import annotations

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]


class OnnxExporterWarning(UserWarning):
    """An export worked, but not quite as asked."""


class OnnxExporterError(RuntimeError):
    """An export failed."""


class UnsupportedOperatorError(OnnxExporterError):
    """An op has no conversion to ONNX nodes."""


class SymbolicValueError(OnnxExporterError):
    """A value cannot be known when the program is exported."""
