"""ShapeProp: runs a graph and notes on every node what kind of tensor it gave."""
from __future__ import annotations

from typing import Any, NamedTuple

import retrograd as torch
from retrograd.fx.interpreter import Interpreter
from retrograd.fx.node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor besides its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any, include_contiguity: bool = True) -> TensorMetadata:
    layout = None
    dense = result.layout is torch.strided     # others have no strides
    if include_contiguity and dense:
        layout = next((kind for kind in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
                       if (kind is torch.contiguous_format or result.dim() == (4 if kind is torch.channels_last else 5))
                       and result.is_contiguous(memory_format=kind)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride() if dense else (), layout, False, {})


class ShapeProp(Interpreter):
    """Runs a module with given inputs; afterwards `node.meta["tensor_meta"]` says what each node gives.

    >>> import retrograd as torch
    >>> model = torch.fx.symbolic_trace(torch.nn.Linear(3, 2))
    >>> _ = ShapeProp(model).propagate(torch.ones(5, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in model.graph.nodes]
    [(5, 3), (2, 3), (2,), (5, 2), (5, 2)]
    """

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        found = False

        def note(value: Any) -> Any:
            nonlocal found
            if isinstance(value, torch.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value
        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the module."""
        return super().run(*args)
