"""`torch.onnx.export`: a module or an exported program as an ONNX model."""
from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import retrograd as torch
from retrograd.export import Dim, ExportedProgram
from retrograd.onnx._convert import Converter
from retrograd.onnx._exporting import exporting
from retrograd.onnx._program import ONNXProgram
from retrograd.onnx.errors import OnnxExporterError
from retrograd.utils import _pytree as pytree

DEFAULT_OPSET = 20
OLDEST_OPSET = 11


def export_program(model: Any, args: Any, kwargs: dict[str, Any] | None, input_names: Any, output_names: Any,
                   opset_version: int | None, dynamic_shapes: Any, dynamic_axes: Any, training: Any) -> ONNXProgram:
    """Trace a module with example arguments, and convert its ops."""
    opset = DEFAULT_OPSET if opset_version is None else opset_version
    if opset < OLDEST_OPSET:
        raise OnnxExporterError(f"Unsupported ONNX opset version: {opset}. Versions from {OLDEST_OPSET} on are written.")
    axes = {} if dynamic_axes is None else {name: dict(entry) if isinstance(entry, dict) else {
        dim: f"{name}_dynamic_axes_{i + 1}" for i, dim in enumerate(entry)} for name, entry in dynamic_axes.items()}
    if isinstance(model, ExportedProgram):
        program = model
    else:
        args, kwargs = arguments(args, kwargs)
        if dynamic_shapes is None and axes:
            dynamic_shapes = shapes_of(model, args, kwargs, axes, list(input_names or ()))
        with exporting(), mode_of(model, training):
            program = torch.export.export(model, args, kwargs, dynamic_shapes=dynamic_shapes)
    return ONNXProgram(Converter(program, opset, input_names, output_names, axes).convert(), program)


def arguments(args: Any, kwargs: dict[str, Any] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments; a dict at the end of a tuple has the latter."""
    given = tuple(args) if isinstance(args, tuple | list) else (args,)
    if not kwargs and given and isinstance(given[-1], dict):
        return given[:-1], given[-1]
    return given, dict(kwargs or {})


@contextmanager
def mode_of(model: Any, training: Any) -> Iterator[None]:
    """Put a module in the mode to export it in, and back."""
    value = getattr(training, "value", training)
    before = {module: module.training for module in model.modules()}
    if value != 1:                                  # TrainingMode.PRESERVE
        model.train(value == 2)
    try:
        yield
    finally:
        for module, was in before.items():
            module.training = was


def shapes_of(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], axes: dict[str, dict[int, str]],
              input_names: list[str]) -> Any:
    """What `dynamic_axes` says of the inputs, as `dynamic_shapes` says it."""
    bound = inspect.signature(model.forward).bind(*args, **kwargs)
    names = iter(input_names)
    dims: dict[tuple[str, int], Any] = {}

    def entry(leaf: Any, own: str) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return None
        name = next(names, own)
        found = {}
        for dim, label in axes.get(name, {}).items():
            size = leaf.shape[dim]                  # one label may stand for sizes that differ: those are two dimensions
            found[dim] = dims.setdefault((label, size), Dim(identifier(label, len(dims))))
        return found or None
    shapes = {}
    for own, value in bound.arguments.items():
        leaves, spec = pytree.tree_flatten(value)
        shapes[own] = pytree.tree_unflatten([entry(leaf, own) for leaf in leaves], spec)
    return shapes


def identifier(label: str, number: int) -> str:
    text = "".join([character if character.isalnum() else "_" for character in label])
    return f"{text}_{number}" if text and not text[0].isdigit() else f"d_{number}"


def write(program: ONNXProgram, f: Any, export_params: bool, keep_initializers_as_inputs: bool) -> None:
    """Write the model where the caller wants it."""
    if not hasattr(f, "write"):
        f = os.fspath(f)
    program.save(f, include_initializers=export_params, keep_initializers_as_inputs=keep_initializers_as_inputs)
