"""Function transforms: PyTorch's names of `torch.func`, and Taylor mode, Laplacians and sparse Jacobians."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrograd.transforms.grad import grad, grad_and_value, vjp
from retrograd.transforms.jacobian import hessian, jacfwd, jacrev
from retrograd.transforms.jvp import jvp, linearize
from retrograd.transforms.lifted import debug_unwrap
from retrograd.transforms.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from retrograd.transforms.vmap import vmap

if TYPE_CHECKING:
    from retrograd.transforms.coloring import color_hessian, color_jacobian
    from retrograd.transforms.functionalize import functionalize
    from retrograd.transforms.jet import jet
    from retrograd.transforms.laplacian import laplacian
    from retrograd.transforms.rearrange import rearrange
    from retrograd.transforms.sparse import hessian_pattern, jacobian_pattern, sparse_hessian, sparse_jacobian

__all__ = ["color_hessian", "color_jacobian", "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value",
           "hessian", "hessian_pattern", "jacfwd", "jacobian_pattern", "jacrev", "jet", "jvp", "laplacian", "linearize",
           "rearrange", "replace_all_batch_norm_modules_", "sparse_hessian", "sparse_jacobian", "stack_module_state", "vjp",
           "vmap"]

for function in (debug_unwrap, functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize,
                 replace_all_batch_norm_modules_, stack_module_state, vjp, vmap):
    function.__module__ = __name__          # where they are published

# names that few programs use, and where they are
LATER = {
    "color_hessian": "coloring",
    "color_jacobian": "coloring",
    "functionalize": "functionalize",
    "hessian_pattern": "sparse",
    "jacobian_pattern": "sparse",
    "jet": "jet",
    "laplacian": "laplacian",
    "rearrange": "rearrange",
    "sparse_hessian": "sparse",
    "sparse_jacobian": "sparse",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"retrograd.transforms.{LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
