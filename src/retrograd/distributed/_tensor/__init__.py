"""The name that distributed tensors had before `torch.distributed.tensor`."""
from retrograd.distributed import tensor as _tensor

__all__ = _tensor.__all__
globals().update({name: getattr(_tensor, name) for name in __all__})
