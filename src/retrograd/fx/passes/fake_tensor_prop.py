"""Shapes, dtypes and devices of all values of a graph, found by running it on fake tensors."""
from __future__ import annotations

from typing import Any

import retrograd as torch
from retrograd.compile.fake_tensor import FakeTensorMode
from retrograd.fx.interpreter import Interpreter
from retrograd.fx.node import Node
from retrograd.utils import _pytree as pytree

__all__ = ["FakeTensorProp"]


class FakeTensorProp(Interpreter):
    """Runs a graph without data, and notes in `node.meta["val"]` what each value is like.

    >>> from retrograd.fx import symbolic_trace
    >>> made = symbolic_trace(lambda x: x @ x.t())
    >>> FakeTensorProp(made).propagate(torch.ones(2, 3))
    FakeTensor(..., size=(2, 2))
    """

    def __init__(self, module: torch.nn.Module, mode: FakeTensorMode | None = None, *, check_consistency: bool = False) -> None:
        super().__init__(module)  # type: ignore[arg-type]
        self._mode = FakeTensorMode(allow_non_fake_inputs=True) if mode is None else mode

    def run_node(self, n: Node) -> Any:
        result = super().run_node(n)
        if isinstance(result, (torch.Tensor, tuple, list, int, float, bool)):
            n.meta["val"] = result
        return result

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        return self._mode.from_tensor(value) if isinstance(value, torch.Tensor) else value

    def propagate(self, *args: Any) -> Any:
        """Run on fake tensors like the arguments."""
        return self.propagate_dont_convert_inputs(*pytree.tree_map_only(torch.Tensor, self._mode.from_tensor, args))

    def propagate_dont_convert_inputs(self, *args: Any) -> Any:
        """Run on arguments that are fake already."""
        with self._mode:
            return super().run(*args)
