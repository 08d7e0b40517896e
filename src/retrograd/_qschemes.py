"""How the scales of quantized numbers are chosen: one for a tensor or one for each channel, around zero or not."""
from __future__ import annotations

from retrograd.ops.memory.copy import NamedConstant


class qscheme(NamedConstant):
    """A way of quantizing.

    >>> per_tensor_affine
    torch.per_tensor_affine
    """


qscheme.__module__ = "torch"
per_tensor_affine, per_channel_affine = qscheme("per_tensor_affine"), qscheme("per_channel_affine")
per_tensor_symmetric, per_channel_symmetric = qscheme("per_tensor_symmetric"), qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
