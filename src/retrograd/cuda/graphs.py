"""torch.cuda.graphs: names of `torch.cuda`."""
from __future__ import annotations

from retrograd.cuda import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
