"""What `functorch` called experimental."""
from __future__ import annotations

from retrograd._functorch.apis import chunk_vmap
from retrograd.transforms.functionalize import functionalize
from retrograd.transforms.jacobian import hessian, jacfwd
from retrograd.transforms.jvp import jvp
from retrograd.transforms.modules import replace_all_batch_norm_modules_

__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
