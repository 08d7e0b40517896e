"""Functions of functions that PyTorch keeps under `torch._higher_order_ops`."""
from retrograd._higher_order_ops.associative_scan import associative_scan

__all__ = ["associative_scan"]
