"""Dimensions rearranged by patterns: PyTorch's `functorch.einops`."""
from retrograd._functorch.package.einops.rearrange import rearrange

__all__ = ["rearrange"]
