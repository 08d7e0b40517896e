"""What `from torch import *` gives: the functions, classes and constants of the package, but not its submodules."""
from __future__ import annotations

from types import ModuleType

import retrograd

# Public names that PyTorch leaves out of a star import, and names of this package that PyTorch does not have.
LEFT_OUT = frozenset("""
    ALIASES BY_NAME BFloat16Storage BFloat16Tensor ComplexDoubleStorage ComplexFloatStorage HalfStorage HalfTensor annotations
    absolute_ arctan2_ broadcast_shapes channels_last channels_last_3d contiguous_format divide_ from_dlpack greater_
    greater_equal_ jagged less_ less_equal_ lu multiply_ not_equal_ per_channel_affine per_channel_affine_float_qparams
    per_channel_symmetric per_tensor_affine per_tensor_symmetric preserve_format set_default_dtype set_grad_enabled sparse_bsc
    sparse_bsr sparse_coo sparse_csc sparse_csr strided subtract_ true_divide_ unique""".split())


def exported_names() -> list[str]:
    """The names, in alphabetical order.

    >>> names = exported_names()
    >>> "tensor" in names, "float32" in names, "nn" in names
    (True, True, False)
    """
    names = [name for name in dir(retrograd) if not name.startswith("_") and name not in LEFT_OUT]
    return [name for name in names if not isinstance(vars(retrograd).get(name), ModuleType)]
