"""retrograd: PyTorch's autograd, whole, in Python."""
from __future__ import annotations

from retrograd import _plain  # noqa: F401  (first: it chooses between compiled and plain modules)

# isort: split
from retrograd import autograd, methods
from retrograd.core import api
from retrograd.core.dtypes import ALIASES, BY_NAME
from retrograd.core import fast_kernels as _kernels
from retrograd.core.tensor import Size, Tensor
from retrograd.ops import load
from retrograd.transforms.vmap import vmap

load.load_tables()
_kernels.use()
api.build()
methods.install_all()
globals().update(BY_NAME)
globals().update(ALIASES)
globals().update(api.FUNCTIONS)
globals().update(api.EXTRA_FUNCTIONS)

__version__ = "0.1.0"
__all__ = ["Size", "Tensor", "autograd", "vmap"]
