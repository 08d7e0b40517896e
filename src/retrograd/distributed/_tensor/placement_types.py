"""The name that `torch.distributed.tensor.placement_types` had before, with the specification of a distributed tensor."""
from retrograd.distributed._absent import absent
from retrograd.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]
globals().update(absent(__name__, "DTensorSpec", "TensorMeta"))
