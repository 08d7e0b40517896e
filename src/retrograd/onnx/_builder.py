"""Builder: the nodes and constants of one ONNX graph, in the form that its opset wants."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import retrograd as torch
from retrograd.onnx.errors import UnsupportedOperatorError

# An op of PyTorch by its name without overload -> how it is written. Filled by `converts` in conversions/.
CONVERSIONS: dict[str, Callable[..., Any]] = {}
VIEWS: set[str] = set()             # those whose result shares the memory of their first argument
INT64_MAX = 2**63 - 1


def converts(*names: str, view: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register how the ops with these names are written.

    The function gets the builder, the example of the result, and the op's own arguments.
    """
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            CONVERSIONS[name] = function
            if view:
                VIEWS.add(name)
        return function
    return register


class Value:
    """A value of the graph with an example of it: a tensor, or an int for a size that is known only when the graph runs."""

    def __init__(self, name: str, example: Any) -> None:
        self.name, self.example = name, example

    @property
    def shape(self) -> Any:
        return self.example.shape

    @property
    def dtype(self) -> Any:
        return self.example.dtype

    @property
    def rank(self) -> int:
        return self.example.dim() if isinstance(self.example, torch.Tensor) else 1


def element_type(dtype: Any) -> int:
    """ONNX's number of a dtype.

    >>> element_type(torch.float32)
    1
    """
    try:
        return ELEMENT_TYPES[dtype]
    except KeyError:
        raise UnsupportedOperatorError(f"ONNX has no tensors of {dtype}") from None


ELEMENT_TYPES = {
    torch.float32: TensorProto.FLOAT, torch.float64: TensorProto.DOUBLE, torch.float16: TensorProto.FLOAT16,
    torch.bfloat16: TensorProto.BFLOAT16, torch.int64: TensorProto.INT64, torch.int32: TensorProto.INT32,
    torch.int16: TensorProto.INT16, torch.int8: TensorProto.INT8, torch.uint8: TensorProto.UINT8, torch.bool: TensorProto.BOOL,
    torch.complex64: TensorProto.COMPLEX64, torch.complex128: TensorProto.COMPLEX128,
}


def tensor_proto(tensor: Any, name: str) -> Any:
    """A tensor with its values, as ONNX stores it."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        raw = tensor.view(torch.int16).numpy().tobytes()
        return helper.make_tensor(name, TensorProto.BFLOAT16, list(tensor.shape), raw, raw=True)
    return numpy_helper.from_array(np.ascontiguousarray(tensor.numpy()).reshape(tuple(tensor.shape)), name)


class Builder:
    """Collects nodes; every method that adds some gives the name of their result."""

    def __init__(self, opset: int) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.constants: dict[Any, str] = {}
        self.taken: set[str] = set()
        self.prefix = ""                # names of the nodes of one op begin with its own

    def fresh(self, name: str) -> str:
        """A name that nothing has yet."""
        found, number = name, 0
        while found in self.taken:
            number += 1
            found = f"{name}_{number}"
        self.taken.add(found)
        return found

    def op(self, kind: str, *inputs: Any, count: int = 1, **attributes: Any) -> Any:
        """Add a node; with `count` results it gives a tuple of names."""
        names = [self.fresh(f"{self.prefix}/{kind}_output_{i}" if count > 1 else f"{self.prefix}/{kind}_output")
                 for i in range(count)]
        given = ["" if value is None else name_of(value) for value in inputs]
        while given and not given[-1]:
            given.pop()
        known = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, given, names, name=self.fresh(f"{self.prefix}/{kind}"), **known))
        return names[0] if count == 1 else tuple(names)

    # ---- constants
    def constant(self, value: Any, dtype: Any = torch.int64) -> str:
        """A number, a list of numbers, an array or a tensor as a constant; equal ones are stored once."""
        tensor: Any = value if isinstance(value, torch.Tensor) else torch.tensor(value, dtype=dtype)
        tensor = tensor.detach().contiguous()
        key = (tensor.dtype, tuple(tensor.shape), repr(tensor.tolist())) if tensor.numel() < 64 else id(tensor)
        if key not in self.constants:
            name = self.constants[key] = self.fresh(f"constant_{len(self.constants)}")
            self.initializers[name] = tensor
        return self.constants[key]

    def typed(self, value: Any, dtype: Any) -> Any:
        """A number or value as one of `dtype`."""
        if not isinstance(value, Value):
            return value if isinstance(value, str) else self.constant(value, dtype)
        have = value.dtype if isinstance(value.example, torch.Tensor) else torch.int64
        return value.name if have == dtype else self.cast(value.name, dtype)

    def cast(self, value: Any, dtype: Any) -> str:
        return self.op("Cast", value, to=element_type(dtype))

    # ---- sizes
    def size(self, value: Any, dim: int) -> str:
        """The size of a value in one dimension, with shape [1]."""
        return self.op("Gather", self.op("Shape", value), self.constant([dim]), axis=0)

    def ints(self, values: Any) -> str:
        """A list of ints, some of which may be values of the graph, as one tensor."""
        if not any([isinstance(value, Value | str) for value in values]):
            return self.constant(list(values))
        parts = [name_of(value) if isinstance(value, Value | str) else self.constant([value]) for value in values]
        return parts[0] if len(parts) == 1 else self.op("Concat", *parts, axis=0)

    # ---- ops whose axes moved from an attribute to an input
    def reduce(self, kind: str, value: Any, axes: Any, keepdims: bool) -> str:
        since = 13 if kind == "ReduceSum" else 18
        axes = None if axes is None else list(axes)
        if self.opset < since:
            return self.op(kind, value, axes=axes, keepdims=int(keepdims))
        return self.op(kind, value, None if axes is None else self.constant(axes), keepdims=int(keepdims))

    def squeeze(self, value: Any, axes: list[int]) -> str:
        return self.along("Squeeze", value, axes)

    def unsqueeze(self, value: Any, axes: list[int]) -> str:
        return self.along("Unsqueeze", value, axes)

    def along(self, kind: str, value: Any, axes: list[int]) -> str:
        if not axes:
            return self.op("Identity", value)
        return self.op(kind, value, axes=axes) if self.opset < 13 else self.op(kind, value, self.constant(axes))

    def split(self, value: Any, sizes: list[int], axis: int) -> Any:
        if len(sizes) == 1:
            return (self.op("Identity", value),)
        if self.opset < 13:
            return self.op("Split", value, count=len(sizes), axis=axis, split=sizes)
        return self.op("Split", value, self.constant(sizes), count=len(sizes), axis=axis)

    def softmax(self, kind: str, value: Any, axis: int, rank: int) -> str:
        """Softmax along one axis; before opset 13 along all from it on, so that it has to be the last."""
        if self.opset >= 13 or axis in (-1, rank - 1):
            return self.op(kind, value, axis=axis)
        order = [*range(rank)]
        order[axis], order[-1] = order[-1], order[axis]
        return self.op("Transpose", self.op(kind, self.op("Transpose", value, perm=order), axis=-1), perm=order)

    # ---- whole formulas
    def slice(self, value: Any, axis: int, start: Any, end: Any, step: int = 1) -> str:
        ends = self.ints([start]), self.ints([end])
        return self.op("Slice", value, *ends, self.constant([axis]), self.constant([step]))

    def transpose(self, value: Any, rank: int, first: int, second: int) -> str:
        order = [*range(rank)]
        order[first], order[second] = order[second], order[first]
        return self.op("Transpose", value, perm=order)

    def reshape(self, value: Any, shape: Any) -> str:
        empty = self.opset >= 14 and any([isinstance(size, int) and size == 0 for size in shape])
        return self.op("Reshape", value, self.ints(shape), allowzero=1 if empty else None)


def name_of(value: Any) -> str:
    return value.name if isinstance(value, Value) else value


def model_proto(graph: Any, opset: int) -> Any:
    """A model of one graph."""
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="pytorch",
                              producer_version=str(torch.torch_version.__version__))
    model.ir_version = min(model.ir_version, 10)
    onnx.checker.check_model(model)
    return model
