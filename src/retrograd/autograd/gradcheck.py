"""`torch.autograd.gradcheck`, module and function; gradcheck_run.py is imported on first use.

The function has the module's name, and importing a module overwrites the package attribute of that name. So this module is
imported with the package, before the function is assigned, and must be small.
"""
from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

Function = Callable[..., Any]
__all__ = ["gradcheck", "gradgradcheck"]
LATER = ("GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "get_numerical_jacobian_wrt_specific_input")


def gradcheck(func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
              check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False,
              masked: bool | None = None) -> bool:
    """Check the gradients of a function against finite differences.

    >>> import retrograd as torch
    >>> gradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    return bool(run().gradcheck(**locals()))


def gradgradcheck(func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
                  rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
                  check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Check the second derivatives of a function: the gradients of its gradients, for given or random `grad_outputs`.

    >>> import retrograd as torch
    >>> gradgradcheck(torch.sin, torch.rand(3, dtype=torch.float64, requires_grad=True))
    True
    """
    return bool(run().gradgradcheck(**locals()))


def run() -> Any:
    """The module that does the work."""
    return import_module(f"{__name__}_run")


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(run(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
