"""References of `retrograd.nn.functional`."""
from retrograd._refs.nn import functional

__all__ = ["functional"]
