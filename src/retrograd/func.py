"""Function transforms: PyTorch's names of `torch.func`."""
from __future__ import annotations

from retrograd.transforms.grad import grad, grad_and_value, vjp
from retrograd.transforms.jacobian import hessian, jacfwd, jacrev
from retrograd.transforms.jvp import jvp, linearize
from retrograd.transforms.modules import functional_call, stack_module_state
from retrograd.transforms.vmap import vmap

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
           "stack_module_state", "vjp", "vmap"]
