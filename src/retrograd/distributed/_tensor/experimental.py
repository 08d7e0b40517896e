"""The name that `torch.distributed.tensor.experimental` had before."""
from retrograd.distributed.tensor import experimental as _experimental

__all__ = _experimental.__all__
globals().update({name: getattr(_experimental, name) for name in __all__})
