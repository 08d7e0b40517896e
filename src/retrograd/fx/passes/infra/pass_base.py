"""PassBase: a pass over a graph with checks before and after it."""
from __future__ import annotations

from collections import namedtuple
from typing import Any

__all__ = ["PassBase", "PassResult"]


class PassResult(namedtuple("PassResult", ["graph_module", "modified"])):
    """What a pass gives: the module, and whether it changed.

    >>> PassResult(None, True).modified
    True
    """


class PassBase:
    """A pass: a subclass defines `call`, and may define what must hold before and after it."""

    def __call__(self, graph_module: Any) -> PassResult | None:
        """Check, do the pass, check again."""
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    def call(self, graph_module: Any) -> PassResult | None:
        """The pass itself."""
        raise NotImplementedError(f"{type(self).__name__} defines no `call`")

    def requires(self, graph_module: Any) -> None:
        """What must hold before the pass; raises where it does not."""

    def ensures(self, graph_module: Any) -> None:
        """What must hold after the pass; raises where it does not."""
