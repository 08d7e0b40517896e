"""How each op of PyTorch is written as ONNX nodes: one function or one line of a table per op."""
from __future__ import annotations

from retrograd.onnx.conversions import elementwise, indexing, nn, reductions, shapes
