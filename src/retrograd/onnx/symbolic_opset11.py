"""ONNX nodes of opset 11: none, since nothing is exported."""
from __future__ import annotations
