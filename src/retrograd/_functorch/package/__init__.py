"""The package `functorch` of programs that are older than `torch.func`."""
from __future__ import annotations

from retrograd._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from retrograd._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from retrograd._functorch.python_key import make_fx
from retrograd.version import __version__

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "__version__", "combine_state_for_ensemble", "functionalize",
           "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers",
           "make_fx", "vjp", "vmap"]
