"""Graph API."""
from retrograd.autograd.backward import GradientEdge, get_gradient_edge
from retrograd.core.graph import Node

__all__ = ["GradientEdge", "Node", "get_gradient_edge"]
