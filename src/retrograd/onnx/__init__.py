"""torch.onnx: modules as ONNX models, written with the `onnx` package where it is installed."""
from __future__ import annotations

import enum
from importlib import import_module
from typing import Any

from retrograd.onnx import errors
from retrograd.onnx._exporting import is_in_onnx_export
from retrograd.onnx.errors import OnnxExporterError

__all__ = ["ONNXProgram", "OnnxExporterError", "OperatorExportTypes", "TrainingMode", "errors", "export",
           "is_in_onnx_export", "register_custom_op_symbolic", "unregister_custom_op_symbolic"]

producer_name = "pytorch"


class TrainingMode(enum.Enum):
    """The mode in which a module is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """What is done with ops that ONNX does not have: `export` refuses them, whatever this says."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def export(model: Any, args: Any = (), f: Any = None, *, kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
           input_names: Any = None, output_names: Any = None, opset_version: int | None = None, dynamo: bool = True,
           external_data: bool = True, dynamic_shapes: Any = None, custom_translation_table: Any = None,
           report: bool = False, optimize: bool = True, verify: bool = False, profile: bool = False,
           dump_exported_program: bool = False, artifacts_dir: Any = ".", export_params: bool = True,
           keep_initializers_as_inputs: bool = False, dynamic_axes: Any = None, training: Any = TrainingMode.EVAL,
           operator_export_type: Any = OperatorExportTypes.ONNX, do_constant_folding: bool = True, custom_opsets: Any = None,
           export_modules_as_functions: Any = False, autograd_inlining: bool = True) -> Any:
    """Write a module as an ONNX model: to the file `f`, and with `dynamo=True` as an `ONNXProgram`.

    >>> import io
    >>> import retrograd as torch
    >>> file = io.BytesIO()
    >>> program = export(torch.nn.Linear(2, 3), (torch.ones(4, 2),), file, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    >>> len(file.getvalue()) > 0
    True
    """
    if custom_translation_table:
        raise OnnxExporterError("custom_translation_table is not supported: it holds functions of onnxscript")
    try:
        exporter = import_module("retrograd.onnx._export")
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != "onnx":
            raise
        raise OnnxExporterError("Module onnx is not installed! pip install onnx") from missing
    program = exporter.export_program(model, args, kwargs, input_names, output_names, opset_version, dynamic_shapes,
                                      dynamic_axes, training)
    if f is not None:
        exporter.write(program, f, export_params, keep_initializers_as_inputs)
    if verbose:
        print(program)
    return program if dynamo else None


symbolics: dict[tuple[str, int], Any] = {}


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int, custom_opsets: Any = None) -> None:
    """Note how an op would be written as ONNX nodes; it is for graphs of TorchScript, which there are none of."""
    symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget what was noted."""
    symbolics.pop((symbolic_name, opset_version), None)


def __getattr__(name: str) -> Any:
    if name == "ONNXProgram":
        return import_module("retrograd.onnx._program").ONNXProgram
    if name in ("operators", "symbolic_helper", "symbolic_opset9", "symbolic_opset10", "symbolic_opset11", "utils"):
        return import_module(f"retrograd.onnx.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
