"""Which nodes a backend can run: rules that say so, and combinations of them."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from retrograd.fx.node import Node
from retrograd.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

TargetTypeName = str
SupportDict = Mapping[str, Any]


class OperatorSupportBase(ABC):
    """A rule that says of each node whether it is supported."""

    @abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Whether a node is supported."""


class OperatorSupport(OperatorSupportBase):
    """A rule by what nodes call; with dtypes that inputs may have, or None for any.

    >>> import retrograd as torch
    >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph
    >>> node = graph.find_nodes(op="call_function", target=torch.relu)[0]
    >>> OperatorSupport({"torch.relu": None}).is_node_supported({}, node)
    True
    """

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or {}

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        wanted = self._support_dict[target]
        if wanted is None:
            return True
        positional, named = wanted
        pairs = [(node.args[i], dtypes) for i, dtypes in enumerate(positional) if i < len(node.args)]
        pairs += [(node.kwargs[name], dtypes) for name, dtypes in named.items() if name in node.kwargs]
        return all([dtype_of(value) in dtypes for value, dtypes in pairs if isinstance(value, Node)])


def dtype_of(node: Node) -> Any:
    found = node.meta.get("tensor_meta")
    return getattr(found, "dtype", None)


class FunctionalOperatorSupport(OperatorSupportBase):
    """A rule that is a function."""

    def __init__(self, is_node_supported: Callable[[Mapping[str, Any], Node], bool]) -> None:
        self._rule = is_node_supported

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        return self._rule(submodules, node)


def create_op_support(is_node_supported: Callable[[Mapping[str, Any], Node], bool]) -> OperatorSupportBase:
    """A rule that is a function."""
    return FunctionalOperatorSupport(is_node_supported)


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What all of some rules support.

    >>> chain(create_op_support(lambda m, n: True), create_op_support(lambda m, n: False)).is_node_supported({}, None)
    False
    """
    return create_op_support(lambda submods, node: all([rule.is_node_supported(submods, node) for rule in op_support]))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """What one of some rules supports."""
    return create_op_support(lambda submods, node: any([rule.is_node_supported(submods, node) for rule in op_support]))


class OpSupports:
    """Rules that are often needed."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Refuse nodes one of whose inputs has a dtype."""
        return create_op_support(lambda submods, node: all([dtype_of(value) != dtype for value in node.all_input_nodes]))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: set[str]) -> OperatorSupportBase:
        """Refuse nodes by their names."""
        return create_op_support(lambda submods, node: node.name not in disallow_set)
