"""Programs as graphs, under PyTorch's names: tracing, changing and running them."""
from __future__ import annotations

from retrograd.fx import immutable_collections, traceback
from retrograd.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from retrograd.fx.graph import CodeGen, Graph
from retrograd.fx.graph_module import GraphModule
from retrograd.fx.interpreter import Interpreter, Transformer
from retrograd.fx.node import Node, has_side_effect, map_arg
from retrograd.fx.proxy import Proxy
from retrograd.fx.subgraph_rewriter import replace_pattern

__all__ = ["PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer",
           "Transformer", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap"]
