"""Settings of `save` and `load`: `torch.utils.serialization.config`."""
from retrograd.utils.serialization import config

__all__ = ["config"]
