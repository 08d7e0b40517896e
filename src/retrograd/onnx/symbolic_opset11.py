"""ONNX nodes of opset 11: those of conversions/, which are not functions of TorchScript graphs."""
from __future__ import annotations
