"""Function transforms: PyTorch's names of `torch.func`, and Taylor mode, Laplacians and sparse Jacobians."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from retrograd.transforms.grad import grad, grad_and_value, vjp
from retrograd.transforms.jacobian import hessian, jacfwd, jacrev
from retrograd.transforms.jvp import jvp, linearize
from retrograd.transforms.modules import functional_call, stack_module_state
from retrograd.transforms.vmap import vmap

if TYPE_CHECKING:
    from retrograd.transforms.functionalize import functionalize
    from retrograd.transforms.jet import jet
    from retrograd.transforms.laplacian import laplacian

__all__ = ["functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jet", "jvp",
           "laplacian", "linearize", "stack_module_state", "vjp", "vmap"]

# names that few programs use, and where they are
LATER = {
    "functionalize": "functionalize",
    "jet": "jet",
    "laplacian": "laplacian",
}


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"retrograd.transforms.{LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *LATER})
