"""Programs that run without their Python code, under PyTorch's names: `export`, and what it gives."""
from __future__ import annotations

from retrograd.export._dataclasses import register_dataclass
from retrograd.export._save import load, save
from retrograd.export._trace import UserError, export
from retrograd.export.dynamic_shapes import AdditionalInputs, Dim, ShapesCollection, dims
from retrograd.export.exported_program import ExportedProgram
from retrograd.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

__all__ = ["AdditionalInputs", "ConstantArgument", "Dim", "ExportGraphSignature", "ExportedProgram", "InputKind",
           "InputSpec", "OutputKind", "OutputSpec", "ShapesCollection", "TensorArgument", "UserError", "dims", "export",
           "load", "register_dataclass", "save"]
